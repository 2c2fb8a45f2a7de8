import Anthropic from '@anthropic-ai/sdk'
import type { Model } from '@koagent/core'
import OpenAI from 'openai'
import { anthropic } from '../anthropic/anthropic.ts'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import { openai } from '../openai/openai.ts'
import { events } from './wire.ts'

interface Reached {
  readonly port?: number
  readonly fetch?: typeof globalThis.fetch
  readonly apiKey?: string | (() => Promise<string>)
}

/** One way to speak to a provider over HTTP, with the pieces of its answers. */
export interface WireProtocol {
  readonly name: string
  readonly modelAt: (reached: Reached) => Model
  /** The same through a client that its user made, which would try again. */
  readonly throughClientAt?: (port: number) => Model
  /** The text 'hi', and what makes the answer whole. */
  readonly hi: string
  readonly end: string
  /** After it nothing more is waited for. */
  readonly done: string
  /** What an error looks like in a body or a stream. */
  readonly error: (type: string, message: string) => object
  /** A call that has no name, and the end of its answer. */
  readonly nameless: string
}

const chat = {
  hi: events([{ choices: [{ index: 0, delta: { content: 'hi' } }] }]),
  end: events([{ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }]),
  done: 'data: [DONE]\n\n',
  error: (type: string, message: string) => ({ error: { message, type } }),
  nameless: events([
    { choices: [{ delta: { tool_calls: [{ index: 0, id: 'a', function: { arguments: '{}' } }] } }] },
    { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
  ]),
}
const named = { model: 'm1', provider: 'acme' }
const own = (baseURL: string) => ({ apiKey: 'k', baseURL, maxRetries: 3, logLevel: 'off' }) as const
const openaiAt = (port: number) => new OpenAI(own(`http://127.0.0.1:${port}/v1`))

export const protocols: readonly WireProtocol[] = [
  {
    ...chat,
    name: 'openaiCompatible',
    modelAt: ({ port = 9, ...more }) => openaiCompatible({ ...named, baseURL: `http://127.0.0.1:${port}/v1`, ...more }),
  },
  {
    ...chat,
    name: 'openai, chat completions',
    modelAt: ({ port = 9, ...more }) => openai({ ...named, api: 'chat', baseURL: `http://127.0.0.1:${port}/v1`, ...more }),
    throughClientAt: (port) => openai({ ...named, api: 'chat', client: openaiAt(port) }),
  },
  {
    name: 'openai, Responses',
    modelAt: ({ port = 9, ...more }) => openai({ ...named, baseURL: `http://127.0.0.1:${port}/v1`, ...more }),
    throughClientAt: (port) => openai({ ...named, client: openaiAt(port) }),
    hi: events([
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'm', content: [] } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'hi' },
    ]),
    end: events([{ type: 'response.completed', response: { status: 'completed', output: [] } }]),
    done: '',
    error: (type, message) => ({ type: 'error', error: { message, type } }),
    nameless: events([
      { type: 'response.output_item.done', output_index: 0, item: { type: 'function_call', call_id: 'a', arguments: '{}' } },
      { type: 'response.completed', response: { status: 'completed', output: [] } },
    ]),
  },
  {
    name: 'anthropic',
    modelAt: ({ port = 9, ...more }) => anthropic({ ...named, baseURL: `http://127.0.0.1:${port}`, ...more }),
    throughClientAt: (port) => anthropic({ ...named, client: new Anthropic(own(`http://127.0.0.1:${port}`)) }),
    hi: events([
      { type: 'message_start', message: {} },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
    ]),
    end: events([{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }]),
    done: events([{ type: 'message_stop' }]),
    error: (type, message) => ({ type: 'error', error: { message, type } }),
    nameless: events([
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    ]),
  },
]
