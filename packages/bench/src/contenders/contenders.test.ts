import { hooks } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { check } from '../parts/run/lanes.ts'
import { thorough } from '../settings.ts'
import { contenderNamed, contenderNames } from './contenders.ts'
import { everywhere } from './koagent.ts'
import { additions, Witness } from './task.ts'

const whole = { text: 'done', inputs: additions, results: additions.map(({ a, b }) => a + b) }

describe.each(contenderNames)('%s', (name) => {
  test.for(name === 'loop' ? [0] : thorough.middlewares)(
    'does the whole work in every run, with %i middlewares',
    async (count) => {
      const run = (await contenderNamed(name)).run(count)
      expect([await run?.(), await run?.()]).toEqual([whole, whole])
    },
  )

  test('streams every delta to its consumer, in every variant, each time', async () => {
    const streams = (await contenderNamed(name)).streams(50)
    for (const make of Object.values(streams)) {
      const stream = make()
      expect([await stream(), await stream()]).toEqual([50, 50])
    }
  })
})

test('koagent has a no-op at every point of its table', () => {
  expect(Object.keys(everywhere(1)).toSorted()).toEqual(['name', ...Object.keys(hooks)].toSorted())
})

test('a name that no contender has is answered with those there are', async () => {
  await expect(contenderNamed('nobody')).rejects.toThrow(
    "no contender is named 'nobody': there are loop, koagent, pi-agent-core,",
  )
})

describe('work that is left out', () => {
  test('is noticed by the model when a result is wrong', () => {
    const witness = new Witness()
    expect([witness.next([]), witness.next([5]), witness.next([5, 47]), witness.next([5, 47, 101])]).toEqual([0, 1, 2, -1])
    expect(() => witness.next([6])).toThrow('result 0 is 6, and must be the sum')
    expect(() => witness.next([5, 47, 101, 0])).toThrow('result 3 is 0')
  })

  test.for([
    ['another answer', { ...whole, text: 'no' }, "answered 'no'"],
    ['a call too few', { ...whole, inputs: additions.slice(1) }, 'the tool ran 2 times'],
    ['other arguments', { ...whole, inputs: additions.toReversed() }, 'call 0 reached the tool with other arguments'],
    ['results that the model never saw', { ...whole, results: [] }, 'the model saw 0 results'],
  ] as const)('is noticed in the proof: %s', ([, proof, message]) => {
    expect(() => check(proof)).toThrow(message)
  })
})
