import { Agent, onEvents } from '@koagent/core'
import type { AgentEvent, Middleware, Model, RunController, RunStatus } from '@koagent/core'
import { timing } from '@koagent/middleware'
import type { ToolTiming } from '@koagent/middleware'
import { audit } from './audit.ts'
import { paths } from './paths.ts'
import { policy } from './policy.ts'
import type { PolicyMetadata } from './policy.ts'
import { redact } from './redact.ts'
import { shown } from './render.ts'
import { repositoryTools } from './tools.ts'

export interface AssistantOptions {
  readonly model: Model
  /** The folder that it may see. */
  readonly root: string
  /** Where the audit log goes. */
  readonly auditFile: string
  /** Called once for each finished tool call. */
  readonly report: (timing: ToolTiming) => void
}

/** The layers of the assistant, outermost first: they are the whole of its rules. */
export function layers({ root, auditFile, report }: Omit<AssistantOptions, 'model'>) {
  return [timing({ report }), audit(auditFile), redact, policy, paths(root)] as const
}

/** An assistant for one repository. */
export function assistant({ model, root, ...options }: AssistantOptions): Agent<PolicyMetadata> {
  return new Agent({
    name: 'assistant',
    instructions: 'You help with a code repository. Use the tools, and say what you found in a few sentences.',
    model,
    tools: repositoryTools(root),
    trace: true,
  }).use(...layers({ root, ...options }))
}

export interface FollowOptions extends PolicyMetadata {
  readonly stream: boolean
  readonly controller: RunController
  readonly show: (event: AgentEvent) => void
}

/** Runs a request and shows its events: as a consumer of the stream, or without one as a layer. */
export async function follow(
  agent: Agent<PolicyMetadata>,
  request: string,
  { stream, controller, show, approved = false }: FollowOptions,
): Promise<RunStatus> {
  const options = { controller, metadata: { approved } }
  try {
    if (!stream) {
      const screen: Middleware = { name: 'screen', on_event: onEvents(shown, (event) => show(event)) }
      return (await agent.run(request, { ...options, middleware: [screen] })).status
    }
    const run = agent.stream(request, options)
    for await (const event of run) show(event)
    return (await run.result).status
  } catch {
    // The events have told what failed.
    return controller.cancelled ? 'cancelled' : 'failed'
  }
}
