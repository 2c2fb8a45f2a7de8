interface Call {
  readonly callId: string
  /** What cannot be printed yet, because a call before it is still open. */
  waiting: string
  done: boolean
}

/**
 * Calls run side by side and are read one after the other: what is told of a call is printed at once while all calls before it are done, and waits
 * for them otherwise.
 */
export class InOrder {
  readonly #calls: Call[] = []

  begin(callId: string): void {
    this.#calls.push({ callId, waiting: '', done: false })
  }

  /** @returns what can be printed now; all of it for what belongs to no open call */
  tell(callId: string | undefined, text: string): string {
    const call = this.#calls.find((each) => each.callId === callId)
    if (!call || call === this.#calls[0]) return text
    call.waiting += text
    return ''
  }

  /** @returns what waited for this call alone */
  end(callId: string): string {
    const call = this.#calls.find((each) => each.callId === callId)
    if (call) call.done = true
    let text = ''
    while (this.#calls[0]?.done) {
      this.#calls.shift()
      const [next] = this.#calls
      text += next?.waiting ?? ''
      if (next) next.waiting = ''
    }
    return text
  }
}
