/** The arguments of the one tool. */
export interface Addition {
  readonly a: number
  readonly b: number
}

/** What the model asks for, one call a turn. */
export const additions: readonly Addition[] = [
  { a: 2, b: 3 },
  { a: 40, b: 7 },
  { a: 100, b: 1 },
]

/** The same as the text that a model sends. */
export const additionTexts: readonly string[] = additions.map((addition) => JSON.stringify(addition))

/** The model's last word. */
export const answer = 'done'

export const toolName = 'add'
export const toolDescription = 'Adds two numbers.'

/** What one run was seen to do: enough to tell that nobody left work out. */
export interface RunProof {
  readonly text: string
  /** What the tool was given. */
  readonly inputs: readonly Addition[]
  /** The tool's results, as the model found them in its last request. */
  readonly results: readonly number[]
}

/** Stands in the tool and in the model of a contender, and notes what passes. */
export class Witness {
  #inputs: Addition[] = []
  #results: readonly number[] = []
  #runs = 0

  /** Begins a run. Returns its prompt, another one each time. */
  begin(): string {
    this.#inputs = []
    this.#results = []
    return `Add up, ${++this.#runs}.`
  }

  /** The tool. */
  add({ a, b }: Addition): number {
    this.#inputs.push({ a, b })
    return a + b
  }

  /**
   * The model: which call comes next after these results; -1 after the last.
   *
   * @throws when a result is not the sum that was asked for
   */
  next(results: readonly number[]): number {
    for (let i = 0; i < results.length; i++) {
      const addition = additions[i]
      if (!addition || results[i] !== addition.a + addition.b)
        throw new Error(`result ${i} is ${results[i]}, and must be the sum`)
    }
    this.#results = results
    return results.length < additions.length ? results.length : -1
  }

  proof(text: string): RunProof {
    return { text, inputs: this.#inputs, results: this.#results }
  }
}
