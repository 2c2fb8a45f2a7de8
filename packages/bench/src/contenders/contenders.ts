import type { Contender } from './contender.ts'

/** All contenders by name, in the order of the tables. Loaded one by one: none may weigh on another's process. */
export const contenders = {
  loop: async () => (await import('./floor.ts')).floor,
  koagent: async () => (await import('./koagent.ts')).koagent,
  'pi-agent-core': async () => (await import('./pi.ts')).pi,
  ai: async () => (await import('./ai.ts')).ai,
  strands: async () => (await import('./strands.ts')).strands,
  '@openai/agents': async () => (await import('./openai-agents.ts')).openaiAgents,
  langchain: async () => (await import('./langchain.ts')).langchain,
} as const satisfies Record<string, () => Promise<Contender>>

export type ContenderName = keyof typeof contenders
export type PeerName = Exclude<ContenderName, 'loop' | 'koagent'>

export const contenderNames = Object.keys(contenders) as ContenderName[]
export const peerNames = contenderNames.filter((name): name is PeerName => name !== 'loop' && name !== 'koagent')

/** The npm package that a user of the contender installs; the loop has none. */
export const packages: Readonly<Record<Exclude<ContenderName, 'loop'>, string>> = {
  koagent: '@koagent/core',
  'pi-agent-core': '@mariozechner/pi-agent-core',
  ai: 'ai',
  strands: '@strands-agents/sdk',
  '@openai/agents': '@openai/agents',
  langchain: 'langchain',
}

/** @throws Error that lists the names there are */
export async function contenderNamed(name: string): Promise<Contender> {
  const load = Object.entries(contenders).find(([each]) => each === name)?.[1]
  if (!load) throw new Error(`no contender is named '${name}': there are ${contenderNames.join(', ')}`)
  return load()
}
