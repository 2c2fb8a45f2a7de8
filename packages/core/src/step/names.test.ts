import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toolNames } from './names.ts'

const legal = /^[a-zA-Z0-9_-]{1,64}$/
const anyName = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.string({ unit: fc.constantFrom('a', '_', '.', '/', '2', 'é'), maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('x', '.'), minLength: 60, maxLength: 70 }),
)

function mapOf(names: readonly string[]): string[] {
  return names.map(toolNames(names).toProvider)
}

describe('toolNames', () => {
  test('every name becomes a legal one of its own and comes back', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { maxLength: 12 }), (names) => {
        const map = toolNames(names)
        const provider = names.map(map.toProvider)
        for (const name of provider) expect(name).toMatch(legal)
        expect(new Set(provider).size).toBe(names.length)
        expect(provider.map(map.fromProvider)).toEqual(names)
      }),
    )
  })

  test('legal names keep their own, whoever else is there', () => {
    fc.assert(
      fc.property(fc.array(anyName, { maxLength: 12 }), (names) => {
        const map = toolNames(names)
        const kept = names.filter((name) => legal.test(name))
        expect(kept.map(map.toProvider)).toEqual(kept)
      }),
    )
  })

  test('the same names give the same map, in any order and however often they are listed', () => {
    fc.assert(
      fc.property(fc.array(anyName, { maxLength: 12 }), (names) => {
        const other = toolNames([...names, ...names].toReversed())
        expect(names.map(other.toProvider)).toEqual(mapOf(names))
      }),
    )
  })

  test.for<[what: string, names: string[], provider: string[]]>([
    ['a dot', ['calendar.create'], ['calendar_create']],
    ['two that would collide', ['calendar.create', 'calendar_create'], ['calendar_create_2', 'calendar_create']],
    ['a suffix that is taken', ['a.b', 'a_b', 'a_b_2'], ['a_b_3', 'a_b', 'a_b_2']],
    ['the longest legal name', ['x'.repeat(64)], ['x'.repeat(64)]],
    ['a long name', ['x'.repeat(70)], ['x'.repeat(64)]],
    ['two long names', ['x'.repeat(70), 'x'.repeat(71)], ['x'.repeat(64), `${'x'.repeat(62)}_2`]],
    ['an empty name', [''], ['tool']],
    ['names without a Latin letter', ['天気', '時間'], ['tool', 'tool_2']],
    ['half a surrogate pair', ['a\ud800'], ['a_']],
  ])('cleans %s', ([, names, provider]) => {
    expect(mapOf(names)).toEqual(provider)
  })

  test('a name that was not listed comes back from the provider as it is', () => {
    expect(toolNames(['fs.write']).fromProvider('made_up')).toBe('made_up')
  })

  test('a name that was not listed is still made legal, and never that of another tool', () => {
    const map = toolNames(['fs.write', 'a_b'])
    expect(map.toProvider('gone')).toBe('gone')
    expect(map.toProvider('gone.tool')).toBe('gone_tool')
    expect(map.toProvider('a.b')).toBe('a_b_2')
    expect(map.toProvider('fs_write')).toBe('fs_write_2')
  })
})
