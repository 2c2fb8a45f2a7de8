// Reads the members of TypeScript interfaces and object types from source text, for the reference pages. It knows as much
// of the language as the sources of core use; whatever else it meets, it throws.

/**
 * @typedef {object} Member
 * @property {string} name
 * @property {string} type as it is written; with its parameters, where it is a method
 * @property {boolean} method
 * @property {boolean} optional
 * @property {string} doc the comment above it, as one line
 */

/** @returns {Member[]} the members of `interface name` or `type name`, wherever in the sources it stands */
export function membersOf(name, source) {
  const at = new RegExp(`^(?:export )?interface ${name}(?:<[^>\\n]*>)?(?: extends [^{]+)? \\{`, 'm').exec(source)
  if (!at) throw new Error(`there is no interface ${name}`)
  return members(inside(source, at.index + at[0].length - 1))
}

/** @returns {Member[]} the members of a type such as `AddsContext & Partial<CallFields> & { readonly x: string }` */
export function membersOfType(type, source) {
  return split(type, '&').flatMap((part) => {
    if (part === 'object') return []
    if (part.startsWith('{')) return members(inside(part, 0))
    const partial = /^Partial<(\w+)>$/.exec(part)
    if (partial) return membersOf(partial[1], source).map((member) => ({ ...member, optional: true }))
    return membersOf(part, source)
  })
}

/** The comment right above a place in the source, as one line. */
export function docAbove(source, index) {
  const before = source.slice(0, index).trimEnd()
  if (!before.endsWith('*/')) return ''
  return plain(before.slice(before.lastIndexOf('/**')))
}

/** Cuts a type at a symbol, but not within brackets. */
export function split(type, symbol) {
  const parts = []
  let depth = 0
  let part = ''
  for (const [i, char] of [...type].entries()) {
    depth += step(char, type[i - 1])
    if (char === symbol && depth === 0) {
      parts.push(part.trim())
      part = ''
    } else part += char
  }
  return [...parts, part.trim()].filter(Boolean)
}

/** @returns {Member[]} */
function members(body) {
  const found = []
  let rest = body
  for (;;) {
    rest = rest.replace(/^[\s;]+/, '')
    if (!rest) return found
    let doc = ''
    if (rest.startsWith('/**')) {
      const end = rest.indexOf('*/') + 2
      doc = plain(rest.slice(0, end))
      rest = rest.slice(end).trimStart()
    }
    const text = member(rest)
    rest = rest.slice(text.length)
    const parts = /^(?:readonly )?(\w+)(\??)((?:<\w+>)?\([\s\S]*\))?: ([\s\S]+)$/.exec(text.trim())
    if (!parts) throw new Error(`not understood as a member: ${text}`)
    const [, name, optional, parameters, type] = parts
    const whole = parameters ? `${parameters.replace(/^<\w+>/, '')}: ${type}` : type
    found.push({ name, type: whole.trim(), method: Boolean(parameters), optional: optional === '?', doc })
  }
}

/** From here to the end of the member: a line end or a semicolon outside brackets, unless the type goes on. */
function member(text) {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    depth += step(text[i], text[i - 1])
    if (depth > 0 || !/[\n;]/.test(text[i])) continue
    if (text[i] === ';' || !(/[&|:]\s*$/.test(text.slice(0, i)) || /^\s*[&|]/.test(text.slice(i)))) return text.slice(0, i)
  }
  return text
}

function inside(text, open) {
  let depth = 0
  for (let i = open; i < text.length; i++) {
    depth += step(text[i], text[i - 1])
    if (depth === 0) return text.slice(open + 1, i)
  }
  throw new Error(`no end of: ${text.slice(open, open + 60)}`)
}

function step(char, previous) {
  if ('{[(<'.includes(char)) return 1
  if ('}])'.includes(char)) return -1
  return char === '>' && previous !== '=' ? -1 : 0
}

function plain(comment) {
  return oneLine(comment.replace(/^\/\*\*|\*\/$/g, '').replace(/^\s*\* ?/gm, '')).replace(/\{@link ([^}]+)\}/g, '`$1`')
}

export function oneLine(text) {
  return text.replace(/\s+/g, ' ').trim()
}
