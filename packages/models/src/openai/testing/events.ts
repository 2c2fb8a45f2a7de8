import type { ModelPart } from '@koagent/core'

// Events of the Responses API, and the parts that come of them.

export const usage: object = { input_tokens: 12, output_tokens: 7, total_tokens: 19 }
export const added = (index: number | undefined, item: object): object => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
})
export const ended = (index: number | undefined, item: object): object => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
})
export const completed = (output: readonly object[] = [], more: object = {}): object => ({
  type: 'response.completed',
  response: { object: 'response', status: 'completed', output, ...more },
})
export const delta = (of: string, index: number | undefined, text: string, more: object = {}): object => ({
  type: `response.${of}.delta`,
  output_index: index,
  delta: text,
  ...more,
})
export const whole = (of: string, index: number | undefined, fields: object): object => ({
  type: `response.${of}.done`,
  output_index: index,
  ...fields,
})

export const message = (text: string, id = 'msg_1'): object => ({
  type: 'message',
  id,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})
export const opening: object = { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] }
export const reasoning = (...summary: readonly string[]): object => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: summary.map((text) => ({ type: 'summary_text', text })),
  encrypted_content: 'gAAA',
})
export const call = (args: string, id = '1', name = 'add'): object => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: `call_${id}`,
  name,
  arguments: args,
  status: 'completed',
})
export const search: object = {
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action: { type: 'search', query: 'tea' },
}

export const says = (text: string): ModelPart => ({ type: 'text_delta', text })
export const thinks = (text: string): ModelPart => ({ type: 'reasoning_delta', text })
export const thought = (item: object): ModelPart => ({ type: 'reasoning_end', providerData: { ...item } })
export const textEnd = (id = 'msg_1'): ModelPart => ({ type: 'text_end', providerData: { id } })
export const argues = (text: string, id = '1', toolName = 'add'): ModelPart => ({
  type: 'tool_call_delta',
  callId: `call_${id}`,
  toolName,
  delta: text,
})
export const calls = (args: string, id = '1', toolName = 'add'): ModelPart => ({
  type: 'tool_call',
  callId: `call_${id}`,
  toolName,
  args,
  providerData: { id: `fc_${id}` },
})
export const stops: ModelPart = { type: 'finish', reason: 'stop', rawReason: 'completed' }
export const asks: ModelPart = { type: 'finish', reason: 'tool_calls', rawReason: 'completed' }
