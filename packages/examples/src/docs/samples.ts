import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Code of one page that makes one module: a block, what was hidden before it, and the blocks that go on from it. */
export interface Sample {
  /** Where it starts: `docs/guide.md:12`. */
  readonly place: string
  /** As many lines as the page up to its end, all others blank: so a compiler's line numbers are the page's. */
  readonly code: string
  /** Without the hidden part. */
  readonly shown: string
  readonly runs: boolean
  /** What it prints, where the page says so. */
  readonly output: string | undefined
}

interface Block {
  readonly info: string
  readonly start: number
  readonly end: number
}

/** The pages whose samples are tested, from the root of the repository. */
export function pages(root: string): readonly string[] {
  const folders = ['.', ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)]
  const readmes = folders.map((folder) => join(folder, 'README.md')).filter((page) => exists(join(root, page)))
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  return [...readmes, ...docs.map((name) => join('docs', name))].toSorted()
}

/**
 * The samples of a page, by the conventions of CONTRIBUTING.md:
 *
 *     <!-- sample        what the reader need not see, right before a block
 *     …code…
 *     -->
 *     ```ts              a module that compiles and runs
 *     ```ts no-run       one that only compiles
 *     ```ts more         goes on from the block before: one module with it
 *     ```text output     right after a block: what the sample prints
 */
export function samplesOf(page: string, text: string): readonly Sample[] {
  const lines = text.split('\n')
  const samples: { blocks: Block[]; hidden: Block[]; output: string[] }[] = []
  let hidden: Block | undefined
  for (const block of blocksOf(lines)) {
    const [language, ...words] = block.info.split(' ')
    const last = samples.at(-1)
    if (language === 'sample') hidden = block
    else if (language === 'ts') {
      if (words.includes('more') && last) last.blocks.push(block)
      else samples.push({ blocks: [block], hidden: [], output: [] })
      if (hidden) samples.at(-1)?.hidden.push(hidden)
      hidden = undefined
    } else if (words.includes('output')) last?.output.push(...lines.slice(block.start, block.end))
  }
  return samples.map(({ blocks, hidden: unseen, output }) => {
    const parts = [...blocks, ...unseen]
    const within = (i: number): boolean => parts.some(({ start, end }) => i >= start && i < end)
    return {
      place: `${page}:${(blocks[0]?.start ?? 0) + 1}`,
      code: lines
        .map((line, i) => (within(i) ? line : ''))
        .join('\n')
        .trimEnd(),
      shown: blocks.map(({ start, end }) => lines.slice(start, end).join('\n')).join('\n'),
      runs: !blocks.some(({ info }) => info.includes('no-run')),
      output: output.length > 0 ? output.join('\n') : undefined,
    }
  })
}

function blocksOf(lines: readonly string[]): readonly Block[] {
  const blocks: Block[] = []
  let open: { readonly info: string; readonly start: number; readonly close: RegExp } | undefined
  for (const [i, line] of lines.entries()) {
    if (open) {
      if (!open.close.test(line)) continue
      blocks.push({ info: open.info, start: open.start, end: i })
      open = undefined
      continue
    }
    const fence = /^```(\w.*)?$/.exec(line)
    if (fence) open = { info: fence[1] ?? '', start: i + 1, close: /^```$/ }
    else if (line === '<!-- sample') open = { info: 'sample', start: i + 1, close: /^-->$/ }
  }
  return blocks
}

function exists(file: string): boolean {
  try {
    return readFileSync(file).length > 0
  } catch {
    return false
  }
}
