import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const files: Readonly<Record<string, string>> = {
  'README.md': '# Tea house\n\nTells the brewing time of a tea.\n',
  'src/brew.ts': 'export const minutes = { green: 2, black: 4 }\n',
  'src/pour.ts': "import { minutes } from './brew.ts'\n\nexport const wait = (tea) => minutes[tea] ?? 3\n",
  'config/shop.env': 'SHOP_KEY=sk-demo-0123456789abcdef0123\nOPENS=09:00\nCONTACT=tea@example.com\n',
}

/** A small repository that does not change, in a folder of its own; and a secret beside it, to which a link leads. */
export async function makeRepository(): Promise<{ readonly root: string; readonly remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'koagent-tea-'))
  const root = join(folder, 'tea')
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), text)
  }
  await writeFile(join(folder, 'outside.txt'), 'not for the assistant\n')
  await symlink(join(folder, 'outside.txt'), join(root, 'link.txt'))
  return { root, remove: () => rm(folder, { recursive: true, force: true }) }
}
