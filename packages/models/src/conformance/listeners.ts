/** A signal that knows who listens to it. */
export interface WatchedSignal {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** How many listeners it has. One that `AbortSignal.any` adds is out of sight. */
  listeners(): number
}

type Listening = Parameters<AbortSignal['addEventListener']>

/** The count is kept here, since a signal tells nobody but Node who listens to it. */
export function watchedSignal(): WatchedSignal {
  const controller = new AbortController()
  const { signal } = controller
  const listening: { readonly listener: Listening[1]; readonly capture: boolean }[] = []
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)

  const forget = (listener: Listening[1], capture: boolean): void => {
    const at = listening.findIndex((one) => one.listener === listener && one.capture === capture)
    if (at >= 0) listening.splice(at, 1)
  }

  Object.defineProperty(signal, 'addEventListener', {
    value(...[type, listener, options]: Listening): void {
      const { signal: until } = typeof options === 'object' ? options : {}
      const capture = captures(options)
      if (type === 'abort' && !until?.aborted && !listening.some((one) => one.listener === listener && one.capture === capture)) {
        listening.push({ listener, capture })
        until?.addEventListener('abort', () => forget(listener, capture), { once: true })
      }
      add(type, listener, options)
    },
  })
  Object.defineProperty(signal, 'removeEventListener', {
    value(...[type, listener, options]: Listening): void {
      if (type === 'abort') forget(listener, captures(options))
      remove(type, listener, options)
    },
  })
  return {
    signal,
    abort: (reason) => controller.abort(reason),
    listeners: () => listening.length,
  }
}

function captures(options: Listening[2]): boolean {
  return typeof options === 'object' ? options.capture === true : options === true
}
