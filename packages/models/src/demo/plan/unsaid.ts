import type { Json } from '@koagent/core'
import type { Clause } from '../words/clauses.ts'
import { isStopWord, meets, stems } from '../words/words.ts'
import { isDirectory } from './affinity.ts'
import type { Parameter, Tool } from './tools.ts'

const switchNames = stems('on enabled active state power value status')
const searchNames = stems('search find grep')

/** The value of a switch that the words mention: 'recursively', 'without hidden files', 'turn … off'. */
export function switched(parameter: Parameter, clause: Clause): boolean | undefined {
  if (parameter.type !== 'boolean' || parameter.choices) return undefined
  const words = clause.tokens.map(({ root, text }) => root || text)
  const own = [...parameter.name].filter((word) => !/^(?:is|has|includ|should|with|us|enabl)$/.test(word) && !isStopWord(word))
  const at = words.findIndex((word) => own.includes(word))
  if (at >= 0)
    return !words.slice(Math.max(0, at - 3), at).some((word) => /^(?:no|not|don't|without|skip|exclud|never)$/i.test(word))
  if (!meets(parameter.name, switchNames)) return undefined
  if (words.some((word) => /^(?:on|enabl|activ|activat|tru|yes)$/i.test(word))) return true
  return words.some((word) => /^(?:off|disabl|deactivat|fals|no)$/i.test(word)) ? false : undefined
}

/** What a required parameter is when nobody says: its default, off, or the place where one is. */
export function assumption(parameter: Parameter, tool: Tool): Json | undefined {
  if (!parameter.required) return undefined
  if (parameter.fallback !== undefined) return parameter.fallback
  if (parameter.type === 'boolean') return false
  const looksAround = isDirectory(parameter, tool) || meets(tool.name, searchNames)
  return parameter.role === 'path' && looksAround ? '.' : undefined
}
