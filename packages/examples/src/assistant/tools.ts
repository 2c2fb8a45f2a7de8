import { spawn } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { defineTool } from '@koagent/core'
import type { Tool } from '@koagent/core'
import { z } from 'zod'

/** Folders that hold nothing a person wrote. */
const skipped = new Set(['.git', '.koagent', '.turbo', '.vitest', 'coverage', 'dist', 'node_modules'])
const maxEntries = 200
const maxMatches = 20
const maxFileChars = 200_000
const maxOutputChars = 20_000

/** The assistant's tools: they do what they are told in one folder. What they may be told is the middleware's business. */
export function repositoryTools(root: string): readonly Tool[] {
  const list_files = defineTool({
    name: 'list_files',
    description: 'Lists the files and folders in a folder of the repository.',
    input: z.object({ path: z.string().default('.').describe('The folder, from the root of the repository') }),
    async execute({ path }) {
      const entries = await orMissing(path, readdir(resolve(root, path), { withFileTypes: true }))
      const names = entries
        .filter(({ name }) => !skipped.has(name))
        .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      return names.toSorted().slice(0, maxEntries).join('\n')
    },
  })

  const read_file = defineTool({
    name: 'read_file',
    description: 'Reads a text file of the repository.',
    input: z.object({ path: z.string().describe('The file, from the root of the repository') }),
    execute: ({ path }) => orMissing(path, readText(resolve(root, path))),
  })

  const search_files = defineTool({
    name: 'search_files',
    description: 'Searches the files of the repository for a text, and gives the lines that hold it.',
    input: z.object({
      text: z.string().min(1).describe('The text to search for, as it is written'),
      path: z.string().default('.').describe('The folder or file to search in'),
    }),
    async execute({ text, path }, { signal }) {
      const matches: string[] = []
      const isFile = (await orMissing(path, stat(resolve(root, path)))).isFile()
      for await (const file of isFile ? [path] : filesIn(root, path)) {
        signal.throwIfAborted()
        const content = await readText(resolve(root, file)).catch(() => '')
        for (const [i, line] of content.split('\n').entries()) {
          if (line.includes(text)) matches.push(`${file}:${i + 1}: ${line.trim()}`)
        }
        if (matches.length >= maxMatches) break
      }
      return matches.slice(0, maxMatches).join('\n') || `No file holds '${text}'.`
    },
  })

  const run_command = defineTool({
    name: 'run_command',
    description: 'Runs a shell command in the root of the repository, for at most ten seconds.',
    input: z.object({ command: z.string().min(1).describe('The command line') }),
    parallel: false,
    timeoutMs: 10_000,
    execute: ({ command }, { signal }) => shell(command, root, signal),
  })

  return [list_files, read_file, search_files, run_command]
}

async function readText(file: string): Promise<string> {
  const text = await readFile(file, 'utf8')
  if (text.includes('\0')) throw new Error('it is no text file')
  return text.slice(0, maxFileChars)
}

/** Says which path is wrong in the words of the model, not in those of the file system. */
async function orMissing<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new Error(`there is no '${path}'`, { cause: error })
    if (code === 'EISDIR') throw new Error(`'${path}' is a folder`, { cause: error })
    if (code === 'ENOTDIR') throw new Error(`'${path}' is no folder`, { cause: error })
    throw error
  }
}

/** The files in a folder and the folders in it, by name, as paths from the root. Links are not followed. */
async function* filesIn(root: string, folder: string): AsyncGenerator<string> {
  const entries = await readdir(resolve(root, folder), { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !skipped.has(entry.name)) yield* filesIn(root, path)
    else if (entry.isFile()) yield path
  }
}

/** Resolves to what the command printed; rejects when it failed, or with the signal's reason. */
function shell(command: string, cwd: string, signal: AbortSignal): Promise<string> {
  return new Promise((fulfil, reject) => {
    // A group of its own, so that what the command started ends with it. Of the environment it gets what programs need, and no keys.
    const { PATH, HOME, LANG, SystemRoot } = process.env
    const child = spawn(command, {
      cwd,
      shell: true,
      detached: process.platform !== 'win32',
      env: { PATH, HOME, LANG, SystemRoot },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const collect = (chunk: Buffer): void => void (output.length < maxOutputChars && (output += chunk.toString()))
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    const kill = (): void => {
      try {
        if (process.platform === 'win32' || child.pid === undefined) child.kill()
        else process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', kill, { once: true })
    child.once('error', reject)
    child.once('close', (code) => {
      signal.removeEventListener('abort', kill)
      if (code === 0) fulfil(output.trimEnd())
      else reject(new Error(`it ended with exit code ${code}: ${output.trimEnd()}`))
    })
  })
}
