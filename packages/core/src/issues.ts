import { ConfigError, messageOf } from './errors.ts'

/** One thing that is wrong with a value, as Standard Schema has it. zod adds `errors`: why each member of a union refused it. */
export interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
  readonly errors?: readonly (readonly Issue[])[]
}

const shown = 10

/** A text that a model or a person can act on: one line an issue, `path: what was expected`. After ten lines it only counts. */
export function issuesText(issues: readonly Issue[]): string {
  const lines = issues.slice(0, shown).map((issue) => issueText(issue))
  if (issues.length > shown) lines.push(`and ${issues.length - shown} more`)
  return lines.join('\n') || 'invalid value'
}

/**
 * What the work gives.
 *
 * @throws ConfigError where it throws: the problem, and what is said to be wrong
 */
export function attempt<Result>(problem: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    const { issues } = cause as { issues?: readonly Issue[] }
    throw new ConfigError(`${problem}: ${issues ? issuesText(issues) : messageOf(cause)}`, { cause })
  }
}

function issueText({ message, path = [], errors = [] }: Issue, outer: readonly PropertyKey[] = []): string {
  const here = [...outer, ...path.map((step) => (typeof step === 'object' ? step.key : step))]
  if (errors.length > 0) return errors.map((member) => member.map((issue) => issueText(issue, here)).join(', ')).join(', or ')
  const place = here.length > 0 ? `${here.map(String).join('.')}: ` : ''
  return place + message.replace(/^Invalid (input|option): /, '')
}
