import { Agent, defineMiddleware, deny, forTools, stack, when } from '@koagent/core'
import type { AgentOptions, Middleware } from '@koagent/core'
import { logging, timing } from '@koagent/middleware'

const readOnly = defineMiddleware({ name: 'read-only', on_permission: () => deny('this agent only looks') })

const brief = defineMiddleware({
  name: 'brief',
  before_llm_step(ctx, next) {
    ctx.addContext('Answer in one sentence.')
    return next()
  },
})

/** What every agent of the house gets, outermost first. A stack is a middleware: it can be shared, nested and published. */
const house: Middleware<{ hurry?: boolean }> = stack('house', [
  stack('observers', [logging(), timing()]),
  forTools(/^(write|delete)_/, readOnly),
  when<{ hurry?: boolean }>((ctx) => ctx.metadata.hurry === true, brief),
])

export function houseAgent(options: Omit<AgentOptions, 'middleware'>): Agent<{ hurry?: boolean }> {
  return new Agent(options).use(house)
}
