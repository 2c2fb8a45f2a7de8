import { Agent, defineMiddleware, defineTool, deny } from '@koagent/core'
import type { Model } from '@koagent/core'
import { z } from 'zod'

const shell = defineTool({
  name: 'shell',
  description: 'Runs a shell command.',
  input: z.object({ command: z.string() }),
  execute: ({ command }) => `(pretends to run) ${command}`,
})

const needsApproval = defineMiddleware<{ approved?: boolean }>({
  name: 'needs-approval',
  on_permission: (ctx, next) =>
    ctx.toolName === 'shell' && !ctx.metadata.approved ? deny('a person has to approve it first') : next(),
})

/** A dangerous tool that runs only when the caller says so: `agent.run('…', { metadata: { approved: true } })`. */
export function janitor(model: Model): Agent<{ approved?: boolean }> {
  return new Agent({ name: 'janitor', model, tools: [shell] }).use(needsApproval)
}
