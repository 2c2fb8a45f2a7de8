import type { Contender } from './contender.ts'

/** All contenders by name. Loaded one by one: none may weigh on another's process. */
export const contenders = {
  'hand-written loop': async () => (await import('./floor.ts')).floor,
  koagent: async () => (await import('./koagent.ts')).koagent,
  'pi-agent-core': async () => (await import('./pi.ts')).pi,
  ai: async () => (await import('./ai.ts')).ai,
  strands: async () => (await import('./strands.ts')).strands,
  '@openai/agents': async () => (await import('./openai-agents.ts')).openaiAgents,
  langchain: async () => (await import('./langchain.ts')).langchain,
} as const satisfies Record<string, () => Promise<Contender>>

/** In the order of the tables: what is written by hand, this package, its peers. */
export type ContenderName = keyof typeof contenders
export const contenderNames = Object.keys(contenders) as ContenderName[]
