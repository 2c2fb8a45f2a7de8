import type { JsonObject, ModelError, ModelPart } from '@koagent/core'
import { isObject, textIn } from '../values.ts'
import { extrasOf } from './echo.ts'

type Fields = Record<string, unknown>

/** One item of a response while it is being streamed. What it says is whole with its last event, whichever of its events came. */
export class OutputItem {
  readonly type: string
  readonly index: number | undefined
  /** What the server has said of it so far. */
  fields: Fields = {}
  /** Its beginning was announced, not only inferred. */
  announced = false
  ended = false
  readonly #fail: (what: string) => ModelError
  /** Its text or arguments so far, and how much of them has gone out. */
  #said = ''
  #out = 0
  /** The same text by its parts: contents, summaries. */
  readonly #parts = new Map<string, string>()
  #waiting: ModelPart[] = []

  constructor(type: string, index: number | undefined, fail: (what: string) => ModelError) {
    this.type = type
    this.index = index
    this.#fail = fail
  }

  /** More of one of its parts. */
  say(part: string, text: string): void {
    if (text === '' || this.ended) return
    const isNext = this.type === 'reasoning' && this.#said !== '' && !this.#parts.has(part)
    this.#parts.set(part, (this.#parts.get(part) ?? '') + text)
    this.#add(isNext ? `\n\n${text}` : text)
  }

  /** One of its parts as a whole. */
  sayWhole(part: string, text: string): void {
    this.say(part, restOf(text, this.#parts.get(part) ?? ''))
  }

  /** The item as a whole; without it, what was streamed counts. */
  end(whole?: Fields): void {
    if (this.ended) return
    this.fields = { ...this.fields, ...whole }
    const said = wholeOf(this.type, this.fields)
    this.#add(restOf(said, this.#said))
    this.ended = true
    this.#put()
    this.#waiting.push(...this.#closing(whole, said))
  }

  /** The parts that have come since it was asked last. */
  take(): ModelPart[] {
    const parts = this.#waiting
    this.#waiting = []
    return parts
  }

  #add(text: string): void {
    this.#said += text
    this.#put()
  }

  #put(): void {
    const text = this.#said.slice(this.#out)
    if (text === '') return
    if (this.type === 'message') this.#waiting.push({ type: 'text_delta', text })
    if (this.type === 'reasoning') this.#waiting.push({ type: 'reasoning_delta', text })
    if (this.type === 'function_call') {
      const toolName = textIn(this.fields['name'])
      // An id that comes after the first delta would be another call's.
      if (toolName === '' || (textIn(this.fields['call_id']) === '' && !this.ended)) return
      this.#waiting.push({ type: 'tool_call_delta', callId: this.#callId, toolName, delta: text })
    }
    this.#out = this.#said.length
  }

  get #callId(): string {
    return textIn(this.fields['call_id']) || textIn(this.fields['id'])
  }

  #closing(whole: Fields | undefined, said: string): ModelPart[] {
    switch (this.type) {
      case 'message':
        return this.#said === '' ? [] : [{ type: 'text_end', ...providerData(extrasOf(this.fields)) }]
      case 'reasoning':
        return whole || this.#said !== '' ? [{ type: 'reasoning_end', ...providerData(whole) }] : []
      case 'function_call':
        return this.#call(said || this.#said)
      default:
        // Nobody here knows what it is. The place where a message keeps what its provider wants back is a reasoning part.
        return whole
          ? [
              { type: 'raw', value: whole },
              { type: 'reasoning_end', ...providerData(whole) },
            ]
          : []
    }
  }

  #call(args: string): ModelPart[] {
    const toolName = textIn(this.fields['name'])
    if (toolName !== '') {
      return [{ type: 'tool_call', callId: this.#callId, toolName, args, ...providerData(extrasOf(this.fields)) }]
    }
    if (args === '') return []
    throw this.#fail(`sent a tool call without a name, with the arguments ${args.slice(0, 200)}`)
  }
}

function providerData(data: Fields | undefined): { readonly providerData?: JsonObject } {
  return data ? { providerData: data as JsonObject } : {}
}

function wholeOf(type: string, { content, summary, arguments: args }: Fields): string {
  if (type === 'message') return textsOf(content).join('')
  if (type === 'reasoning') return [...textsOf(summary), ...textsOf(content)].join('\n\n')
  if (type !== 'function_call') return ''
  return isObject(args) ? JSON.stringify(args) : textIn(args)
}

/** A refusal is text for the reader, too. */
function textsOf(contents: unknown): string[] {
  if (!Array.isArray(contents)) return []
  return contents.map((part) => (isObject(part) ? textIn(part['text']) || textIn(part['refusal']) : '')).filter(Boolean)
}

/** What of the whole has not been said. Where it is not what was said, nothing: what is out is out. */
function restOf(whole: string, said: string): string {
  return whole.startsWith(said) ? whole.slice(said.length) : ''
}
