import { describe, expect, test } from 'vitest'
import { exits, modes, take } from './exits.ts'

describe.for(modes)('every exit is what its name says (%s)', (mode) => {
  test.for(exits)('a call that is $name', async (exit) => {
    const { status, ended } = await take(exit, mode)
    expect({ status, ended }).toEqual({ status: exit.status, ended: exit.ends ?? 'completed' })
  })
})
