/** Throws an error with this message where the condition does not hold. */
export function must(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message)
}

/** Throws where the two differ as JSON. */
export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  const [is, should] = [actual, expected].map((value) => JSON.stringify(sorted(value)))
  must(is === should, `${what} must be ${should}, and is ${is}`)
}

/** How long a model may take for what needs no waiting: long, since machines are shared. */
const limitMs = 5000

/** What the promise comes to. Throws where it takes longer than what needs no waiting may. */
export async function promptly<Value>(promise: PromiseLike<Value>, what: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** What it throws. Throws itself where it throws nothing. */
export async function mustThrow(promise: PromiseLike<unknown>, what: string): Promise<unknown> {
  const nothing = {}
  const thrown = await promptly(
    promise.then(
      () => nothing,
      (error: unknown) => error,
    ),
    what,
  )
  must(thrown !== nothing, `${what} must throw, and ends as if all were well`)
  return thrown
}

/** Throws where what was thrown is no `ModelError` that says this of itself. */
export function mustBeModelError(thrown: unknown, fields: { readonly [field: string]: unknown }, what: string): void {
  const isModelError = thrown instanceof Error && thrown.name === 'ModelError'
  must(isModelError, `${what} must be a ModelError, and is: ${String(thrown)}`)
  for (const [name, value] of Object.entries(fields)) {
    mustEqual((thrown as Error & Record<string, unknown>)[name], value, `'${name}' of ${what} ("${thrown.message}")`)
  }
}

/** With the keys of its objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value ?? null
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => [key, sorted(field)]),
  )
}
