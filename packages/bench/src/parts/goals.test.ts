import { expect, test } from 'vitest'
import { compared, together } from './figures.ts'
import { layerVerdicts } from './layer/layer.ts'
import { atLeast, atMost, rounded } from './part.ts'
import type { Figure, Verdict } from './part.ts'
import { runVerdicts } from './run/run.ts'
import { scaleVerdicts } from './scale/scale.ts'
import { startupVerdicts } from './startup/startup.ts'
import { streamVerdicts } from './stream/stream.ts'

const none = '0 middlewares'

function figure(contender: string, variant: string, min: number): Figure {
  return { contender, variant, unit: 'µs', min, median: min * 2 }
}

/** Goals by what they were measured at, where they are not met. */
function missed(verdicts: readonly Verdict[]): string[] {
  return verdicts.filter(({ met }) => !met).map(({ goal, measured }) => `${goal} (${measured})`)
}

test('a limit may be reached, and not be passed', () => {
  expect([atMost('', 2.5, 2.5), atMost('', 2.51, 2.5)].map(({ met }) => met)).toEqual([true, false])
  expect([atLeast('', 3, 3), atLeast('', 2.99, 3)].map(({ met }) => met)).toEqual([true, false])
})

test('what was not measured meets no goal', () => {
  expect(atMost('', undefined, 1)).toMatchObject({ measured: 'not measured', met: false })
  expect(atLeast('', undefined, 0)).toMatchObject({ measured: 'not measured', met: false })
  expect(atMost('', NaN, 1)).toMatchObject({ measured: 'not measured', met: false })
})

test('the run is judged beside the loop in its own process, and beside each peer', () => {
  const peers = { 'pi-agent-core': 90, ai: 600, strands: 750, '@openai/agents': 2_400, langchain: 7_500 }
  const figures = [
    // Another process may be faster or slower: this one does not count.
    figure('loop', none, 1),
    figure('loop', together, 4),
    figure('koagent', together, 40),
    figure('koagent', none, 30),
    figure('koagent', '5 middlewares', 135),
    ...Object.entries(peers).map(([name, min]) => figure(name, none, min)),
  ]
  expect(missed(runVerdicts(figures))).toEqual([])
  const slower = figures.map((each) => (each.contender === 'koagent' ? { ...each, min: each.min * 1.01 } : each))
  expect(missed(runVerdicts(slower))).toEqual([
    '0 middlewares: at most 10 × the loop, in one process (10.1 ×)',
    'pi-agent-core uses at least 3 × koagent (2.97 ×)',
    'ai uses at least 20 × koagent (19.8 ×)',
    'strands uses at least 25 × koagent (24.8 ×)',
    '@openai/agents uses at least 80 × koagent (79.2 ×)',
    'langchain uses at least 250 × koagent (248 ×)',
    '5 middlewares on every point: at most 1.5 × pi-agent-core with none (1.52 ×)',
  ])
})

test('a stream is judged beside a bare generator, pi on the same source, and itself', () => {
  const figures = [
    figure('loop', together, 0.25),
    figure('koagent', together, 1),
    figure('koagent', none, 1),
    figure('koagent', '5 layers for other events', 1.05),
    figure('pi-agent-core', none, 0.5),
    figure('pi-agent-core', '0 middlewares, same source', 1),
    figure('ai', none, 20),
    figure('langchain', none, 20),
    figure('@openai/agents', none, 10),
  ]
  expect(missed(streamVerdicts(figures))).toEqual([])
  const worse = figures.map((each) => (each.variant === '5 layers for other events' ? { ...each, min: 1.2 } : each))
  expect(missed(streamVerdicts(worse))).toEqual(['5 layers for other events: at most 1.1 × none (1.2 ×)'])
})

test('a layer is judged beside a layer of koa-compose that is written the same way', () => {
  const styles = ['returns next()', 'awaits next()'] as const
  const at = (contender: string, returns: number, awaits: number) => [
    figure(contender, styles[0], returns),
    figure(contender, styles[1], awaits),
  ]
  const figures = [
    ...at('koa-compose', 50, 200),
    ...at('before_turn', 125, 500),
    ...at('around_llm_step', 126, 1),
    ...at('after_turn', 1, 501),
  ]
  expect(missed(layerVerdicts(figures))).toEqual([
    'around_llm_step, returns next(): at most 2.5 × koa-compose (2.52 ×)',
    'after_turn, awaits next(): at most 2.5 × koa-compose (2.51 ×)',
  ])
})

test('growth is judged from the smallest size to the largest', () => {
  const figures = ['concurrent runs', 'a session that runs fill', 'parallel tools', 'deltas'].flatMap((what) => [
    figure(what, '10', 10),
    figure(what, '100', 10),
    figure(what, '1,000', 11),
    figure(what, '200', 12),
    figure(what, '10,000', 13),
    figure(what, '100,000', 14),
  ])
  expect(missed(scaleVerdicts(figures))).toEqual([
    'a session that runs fill: cost per message grows at most 1.2 × from 100 to 10,000 (1.3 ×)',
    'deltas: cost per delta grows at most 1.2 × from 1,000 to 100,000 (1.27 ×)',
  ])
})

test('start-up has to be less than that of any peer, not the same', () => {
  const peers = ['pi-agent-core', 'ai', 'strands', '@openai/agents', 'langchain']
  const figures = ['koagent', ...peers].flatMap((name) => [
    figure(name, 'import', 10),
    figure(name, 'install size', name === 'koagent' ? 9 : 10),
  ])
  expect(missed(startupVerdicts(figures))).toEqual(peers.map((name) => `import: less than ${name} (1 ×)`))
})

test('figures stand beside the loop and koagent of the same process', () => {
  const figures = [
    figure('loop', none, 2),
    figure('koagent', none, 20),
    figure('loop', together, 4),
    figure('koagent', together, 20),
    figure('ai', none, 100),
  ]
  expect(compared(figures, none).map(({ toFloor, toKoagent }) => [toFloor, toKoagent])).toEqual([
    [1, 0.1],
    [10, 1],
    [1, 0.2],
    [5, 1],
    [50, 5],
  ])
  expect(compared([figure('ai', none, 1)], none)).toEqual([figure('ai', none, 1)])
})

test.for([
  [0, '0'],
  [0.012345, '0.0123'],
  [1, '1'],
  [9.876, '9.88'],
  [98.76, '98.8'],
  [987.6, '988'],
  [123_456, '123,456'],
] as const)('%d is shown as %s', ([value, text]) => {
  expect(rounded(value)).toBe(text)
})
