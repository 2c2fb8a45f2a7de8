// Writes the generated parts of the documentation: whatever stands between `<!-- generated: name -->` and `<!-- end -->`.
// `npm run docs` writes them; the gate checks that they are up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { docAbove, membersOf, membersOfType, oneLine, split } from './members.mjs'

const core = (file) => readFileSync(`packages/core/src/${file}`, 'utf8')
const pages = ['README.md', 'docs/hooks.md', 'docs/events.md', 'packages/core/README.md']

/** @returns {Promise<number>} 0, or 1 when `check` is set and a page is out of date */
export async function docs({ check = false } = {}) {
  const sources = ['hooks.ts', 'ctx.ts', 'decision.ts', 'event/event.ts', 'agent.ts', 'result.ts', 'model.ts', 'message.ts']
    .map(core)
    .join('\n')
  const table = await hookTable()
  const parts = {
    approval: () => sample('packages/examples/src/approval/approval.ts'),
    overview: () => overview(table, sources),
    points: () =>
      Object.entries(table)
        .map((row) => point(row, sources))
        .join('\n\n'),
    context: () => fieldTable(membersOf('Context', sources)),
    decisions: () => decisions(table, sources),
    events: () => events(sources),
    'event-base': () => fieldTable(membersOf('EventBase', sources)),
    'agent-options': () => fieldTable(membersOf('AgentOptions', sources)),
    'run-result': () => valueTable('RunResult', sources).split('\n\n').at(-1),
    values: () => values.map((name) => valueTable(name, sources)).join('\n\n'),
    'run-options': () => fieldTable([...membersOf('RunOptionsBase', sources), metadata]),
  }
  let stale = 0
  for (const page of pages) {
    const old = readFileSync(page, 'utf8')
    const fresh = old.replace(/(<!-- generated: (\S+) -->\n)[\s\S]*?(<!-- end -->)/g, (_, begin, name, end) => {
      if (!parts[name]) throw new Error(`${page} asks for '${name}', and there is: ${Object.keys(parts).join(', ')}`)
      return `${begin}\n${parts[name]()}\n\n${end}`
    })
    const missing = page === 'docs/hooks.md' ? Object.keys(table).filter((name) => !handWritten(fresh).includes(name)) : []
    if (missing.length > 0) throw new Error(`the diagram in ${page} lacks ${missing.join(', ')}`)
    if (fresh === old) continue
    stale++
    if (check) console.error(`${page} is not what the sources say: npm run docs`)
    else writeFileSync(page, fresh)
  }
  return check && stale > 0 ? 1 : 0
}

/** The values that hooks get and give, in the order of a run. */
const values = ['StepRequest', 'LLMStep', 'ToolCallPart', 'ToolResult', 'TurnResult', 'RunResult']

const metadata = {
  name: 'metadata',
  type: 'what the middlewares need',
  optional: true,
  doc: 'Facts for the layers: who asks, what is approved. Its type is what all layers of the agent need together; it may be left out where they need nothing. Frozen.',
}

/** A program of the examples, where it is tested. */
function sample(file) {
  return `\`\`\`ts\n${readFileSync(file, 'utf8').trim()}\n\`\`\``
}

/** The table's cells as values. */
async function hookTable() {
  // Not at the top of the file: on a fresh clone it is not installed when this module is loaded.
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: ['packages/core/src/hooks.ts'],
    bundle: true,
    format: 'esm',
    write: false,
  })
  const module = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
  return module.hooks
}

/** A row's doc comment and its types, which the values do not have. */
function typesOf(name, sources) {
  const row = new RegExp(`^  ${name}: \\{\\n([\\s\\S]*?)\\n  \\},$`, 'm').exec(sources)
  const cells = /^ {4}adds: type as ([\s\S]*),\n {4}next: type as (.*),\n {4}may: type as (.*),$/m.exec(row?.[1] ?? '')
  if (!cells) throw new Error(`the row of ${name} is not understood`)
  const [, adds, next, may] = cells
  return { doc: docAbove(sources, row.index), adds: membersOfType(adds, sources), next, may }
}

function valueTable(name, sources) {
  const at = sources.search(new RegExp(`^export interface ${name} \\{`, 'm'))
  return `### ${name}\n\n${docAbove(sources, at)}\n\n${fieldTable(membersOf(name, sources).map((member) => ({ ...member, type: spelledOut(member.type, sources) })))}`
}

/** A type that is a list of words, as that list. */
function spelledOut(type, sources) {
  const words = new RegExp(`^export type ${type} = ('.*)$`, 'm').exec(sources)
  return words?.[1] ?? type
}

function overview(table, sources) {
  const rows = Object.entries(table).map(([name, { kind, write }]) => {
    const { next, may } = typesOf(name, sources)
    return `| [\`${name}\`](#${name}) | ${kind} | ${code(write)} | ${resolves(kind, next)} | ${returns(may, sources)} |`
  })
  return ['| point | kind | ✎ | `next()` resolves to | may return |', '|---|---|---|---|---|', ...rows].join('\n')
}

function point([name, { kind, fields, write }], sources) {
  const { doc, adds, next, may } = typesOf(name, sources)
  const known = adds.map((member) => member.name)
  if (known.toSorted().join() !== fields.toSorted().join())
    throw new Error(`fields of ${name}: ${known.join()} are not ${fields.join()}`)
  return [
    `### ${name}`,
    doc,
    `Kind: ${kind}. \`next()\` resolves to ${resolves(kind, next)}. May return: ${returns(may, sources)}.`,
    fieldTable(adds, write),
  ].join('\n\n')
}

function resolves(kind, next) {
  if (next === 'void') return 'nothing'
  return kind === 'gate' ? 'the strictest decision so far, or `undefined`' : code([next])
}

const calls = {
  Allow: 'allow()',
  AllowArgs: 'allow({ args? })',
  AllowCall: 'allow({ args?, context? })',
  Ask: 'ask(reason)',
  Deny: 'deny(reason)',
  ReplaceResult: 'replace_result(result)',
  Retry: 'retry({ delayMs?, reason?, request? })',
  Stop: 'stop(reason, result?)',
  ContinueRun: 'continue_run(message)',
  Raise: 'raise(error)',
  Drop: 'drop()',
}

function returns(may, sources) {
  const alias = new RegExp(`^export type ${may} = (.*)$`, 'm').exec(sources)
  const kinds = split(alias?.[1] ?? may, '|').filter((type) => type !== 'void')
  return (
    code(
      kinds.map((type) =>
        type.startsWith('ReplaceResult<')
          ? type.replace('ReplaceResult<', 'replace_result(').slice(0, -1) + ')'
          : (calls[type] ?? type),
      ),
    ) || 'nothing'
  )
}

function decisions(table, sources) {
  const rows = Object.entries(calls).map(([type, call]) => {
    const at = sources.search(new RegExp(`^export interface ${type}(<.*>)? \\{`, 'm'))
    const kind = /readonly kind: '(\w+)'/.exec(sources.slice(at))[1]
    const taken = Object.keys(table).filter((name) =>
      returns(typesOf(name, sources).may, sources).includes(call.replace('(result)', '')),
    )
    return { kind, row: `| \`${call}\` | ${docAbove(sources, at)} | ${taken.join(', ')} |` }
  })
  return ['| decision | means | taken at |', '|---|---|---|', ...rows.map(({ row }) => row)].join('\n')
}

function events(sources) {
  const rows = membersOf('EventFields', sources).map(({ name, type, doc }) => {
    // A field that two of the type's parts have counts once, as the last one says.
    const fields = new Map(membersOfType(type, sources).map((field) => [field.name, `${field.name}${field.optional ? '?' : ''}`]))
    return `| \`${name}\` | ${doc} | ${code([...fields.values()])} |`
  })
  return ['| type | when | fields |', '|---|---|---|', ...rows].join('\n')
}

function fieldTable(members, write = []) {
  if (members.length === 0) return ''
  const rows = members.map(({ name, type, optional, method, doc }) => {
    const mark = write.includes(name) ? ' ✎' : ''
    return method
      ? `| \`${cell(name + type)}\` | | ${doc} |`
      : `| \`${name}${optional ? '?' : ''}\`${mark} | \`${cell(type)}\` | ${doc} |`
  })
  return ['| field | type | |', '|---|---|---|', ...rows].join('\n')
}

function code(words) {
  return words.map((word) => `\`${cell(word)}\``).join(', ')
}

function cell(text) {
  return oneLine(text).replaceAll('|', '\\|')
}

/** A page without its generated parts. */
function handWritten(page) {
  return page.replace(/<!-- generated: [\s\S]*?<!-- end -->/g, '')
}
