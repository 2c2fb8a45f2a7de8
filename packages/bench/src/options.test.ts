import { expect, test } from 'vitest'
import { optionsOf, UsageError } from './options.ts'
import { quick, thorough } from './settings.ts'

test('nothing said means everything, thoroughly', () => {
  expect(optionsOf([])).toEqual({
    parts: ['run', 'layer', 'stream', 'scale', 'memory', 'startup'],
    settings: thorough,
    quick: false,
    save: false,
  })
})

test('parts come in the order of the report, each once', () => {
  expect(optionsOf(['stream', 'run', 'stream']).parts).toEqual(['run', 'stream'])
})

test('--rounds goes before what --quick says', () => {
  expect(optionsOf(['--quick']).settings).toEqual(quick)
  expect(optionsOf(['--quick', '--rounds', '7']).settings).toEqual({ ...quick, rounds: 7 })
})

test.for([
  [['nothing'], "no part is named 'nothing': there are run, layer, stream, scale, memory, startup"],
  [['--rounds', '0'], "--rounds is '0', and must be a whole number from 1 to 1,000"],
  [['--rounds', 'many'], "--rounds is 'many'"],
  [['--rounds', '1.5'], "--rounds is '1.5'"],
  [['--fast'], "Unknown option '--fast'"],
  [['--quick', '--save'], 'too rough to be kept'],
] as const)('%j is refused', ([args, message]) => {
  expect(() => optionsOf(args)).toThrow(UsageError)
  expect(() => optionsOf(args)).toThrow(message)
})
