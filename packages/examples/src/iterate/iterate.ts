import type { Agent } from '@koagent/core'

/** Reads a run as it goes. Leaving the loop cancels the run, and whatever it was doing. */
export async function narrate(agent: Agent, request: string, { maxCalls = Infinity } = {}): Promise<string> {
  const run = agent.stream(request)
  let story = ''
  let calls = 0
  for await (const event of run) {
    if (event.type === 'text_delta') story += event.text
    if (event.type === 'tool_call_begin') {
      story += `[${event.toolName}]`
      if (++calls === maxCalls) break
    }
  }
  const end = await run.result.then(
    ({ status }) => status,
    (error: Error) => (error.name === 'AbortError' ? 'cancelled' : `failed: ${error.message}`),
  )
  return `${story} (${end})`
}

/** Only the answer, piece by piece: for a terminal, or a response that streams. */
export function answer(agent: Agent, request: string): AsyncIterable<string> {
  return agent.stream(request).text()
}
