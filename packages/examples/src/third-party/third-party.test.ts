import { readFile } from 'node:fs/promises'
import { Agent, defineTool } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { logging } from '@koagent/middleware'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { callCount, toolBudget } from './koagent-tool-budget/src/index.ts'

const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'a garden' })
const looks = (count: number) => ({ toolCalls: Array.from({ length: count }, () => ({ name: 'look' })) })
const silent = logging({ log: () => {} })

test.for(['run', 'stream'] as const)('a third-party middleware stands in the onion like a built-in (%s)', async (mode) => {
  const statuses: string[] = []
  const counts: number[] = []
  const reader: Middleware = {
    name: 'reader',
    requires: [callCount],
    on_event(ctx, next) {
      if (ctx.event.type === 'tool_result') statuses.push(ctx.event.status)
      if (ctx.event.type === 'run_end') counts.push(ctx.get(callCount))
      return next()
    },
  }
  const model = scripted([looks(2), looks(2), { text: 'A garden.' }])
  const agent = new Agent({ model, tools: [look] }).use(silent, toolBudget({ calls: 3 }), reader)
  const { status } = await (mode === 'run' ? agent.run('Look') : agent.stream('Look').result)
  expect(status).toBe('completed')
  expect(statuses.toSorted()).toEqual(['blocked', 'ok', 'ok', 'ok'])
  expect(counts).toEqual([4])
})

test('it can be published: core is a peer, and only public entries are imported', async () => {
  const read = (file: string) => readFile(new URL(`koagent-tool-budget/${file}`, import.meta.url), 'utf8')
  const manifest = JSON.parse(await read('package.json')) as Record<string, Record<string, string>>
  expect(manifest.peerDependencies).toHaveProperty(['@koagent/core'])
  expect(manifest).not.toHaveProperty('dependencies')
  const imported = [...(await read('src/index.ts')).matchAll(/from '([^']+)'/g)].map(([, name = '']) => name)
  expect(Object.keys(manifest.peerDependencies ?? {})).toEqual(expect.arrayContaining(imported))
})
