/** One event of a `text/event-stream`. */
export interface SseEvent {
  /** The `event:` field. Default: 'message'. */
  readonly event: string
  /** Its `data:` lines, joined with a newline. */
  readonly data: string
}

/** Turns the bytes of a `text/event-stream` into events, however the bytes were cut. */
export interface SseDecoder {
  /** The events that these bytes complete. */
  push(bytes: Uint8Array): SseEvent[]
  /** The event that the end of the stream cut off before its blank line, if any. */
  end(): SseEvent[]
}

/**
 * A decoder for one stream, after the HTML standard's "Interpreting an event stream": LF, CR and CR LF end a line, in any mixture;
 * comments, ids and a byte order mark are dropped; a block without data is no event.
 *
 * Contract: an event is returned with the byte that decides it. A CR ends its line at once, and an LF right after it, which may be
 * in the next piece, belongs to it. That a stream may end without the last blank line is kinder than the standard: servers do it.
 */
export function sseDecoder(): SseDecoder {
  const utf8 = new TextDecoder()
  let line = ''
  let afterCr = false
  let event = ''
  let data: string | undefined

  function endLine(events: SseEvent[]): void {
    if (line === '') {
      if (data) events.push({ event: event || 'message', data })
      event = ''
      data = undefined
      return
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    if (field === 'data' || field === 'event') {
      const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
      if (field === 'event') event = value
      else data = data === undefined ? value : `${data}\n${value}`
    }
    line = ''
  }

  function read(text: string): SseEvent[] {
    const events: SseEvent[] = []
    let start = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code !== 10 && code !== 13) {
        afterCr = false
        continue
      }
      if (code === 10 && afterCr) {
        afterCr = false
      } else {
        line += text.slice(start, at)
        endLine(events)
        afterCr = code === 13
      }
      start = at + 1
    }
    line += text.slice(start)
    return events
  }

  return {
    push: (bytes) => read(utf8.decode(bytes, { stream: true })),
    end: () => read(`${utf8.decode()}\n\n`),
  }
}
