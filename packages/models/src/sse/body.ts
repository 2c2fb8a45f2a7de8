import { jsonIn } from '../values.ts'
import { sseDecoder } from './sse.ts'
import type { SseDecoder } from './sse.ts'

/** White space, and the bytes of a byte order mark: what may precede the content of either kind. */
const blank = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf])

/**
 * A decoder for the answer to a request for an event stream, whatever it came as: an event stream, one JSON document, or JSON line by line. The first byte that
 * is not blank decides, since no line of an event stream begins with a bracket; servers' content types are not to be trusted.
 */
export function bodyDecoder(): SseDecoder {
  let decoder: SseDecoder | undefined
  const held: Uint8Array[] = []
  return {
    push(bytes) {
      if (decoder) return decoder.push(bytes)
      held.push(bytes)
      const first = bytes.find((byte) => !blank.has(byte))
      if (first === undefined) return []
      const begun = (decoder = first === 0x7b || first === 0x5b ? jsonDecoder() : sseDecoder())
      return held.flatMap((piece) => begun.push(piece))
    },
    end: () => decoder?.end() ?? [],
  }
}

/** Each line that is a JSON value of its own is an event, at once; what is left is one document, and one event at the end. */
function jsonDecoder(): SseDecoder {
  const utf8 = new TextDecoder()
  let line = ''
  let document = ''

  function endLine(): string[] {
    const text = line
    line = ''
    if (document === '' && isEvent(text.trim())) return [text.trim()]
    if (document !== '' || text.trim() !== '') document += `${text}\n`
    return []
  }

  function read(text: string): string[] {
    const [first = '', ...rest] = text.split('\n')
    line += first
    return rest.flatMap((next) => {
      const ended = endLine()
      line = next
      return ended
    })
  }

  const events = (texts: readonly string[]) => texts.map((data) => ({ event: 'message', data }))
  return {
    push: (bytes) => events(read(utf8.decode(bytes, { stream: true }))),
    end: () => events([...read(`${utf8.decode()}\n`), document].filter(Boolean)),
  }
}

/** A value of its own, or the way in which some end such a stream. */
function isEvent(line: string): boolean {
  if (line.startsWith('data:') || line === '[DONE]') return true
  return line.startsWith('{') && line.endsWith('}') && jsonIn(line) !== undefined
}
