import { expectTypeOf, test } from 'vitest'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import { modelConformance } from '../conformance/conformance.ts'
import { fakeProvider } from './fake.ts'
import type { FakeRequest } from './fake.ts'

test('answers of every kind stand beside one another', async () => {
  const provider = await fakeProvider([
    { text: 'Let me add.', toolCalls: [{ name: 'add', args: { a: 1, b: 2 } }], end: 'hang' },
    (request) => {
      expectTypeOf(request).toEqualTypeOf<FakeRequest>()
      return { text: `You sent ${String(request.body['model'])}` }
    },
    { status: 429, headers: { 'retry-after': '2' }, body: { error: { message: 'slow down' } } },
    { frames: ['data: {', new Uint8Array([125])], end: 'reset' },
  ])
  // @ts-expect-error frames end where they end: there is nothing left to cut
  await fakeProvider([{ frames: [], end: 'cut' }])
  // @ts-expect-error no such end
  await fakeProvider([{ text: 'hi', end: 'close' }])
  expectTypeOf(provider.requests[0]?.ended).toEqualTypeOf<Promise<'sent' | 'left' | 'closed'> | undefined>()
})

test('the steps of a conformance suite are answers of a fake provider', () => {
  const start: Parameters<typeof modelConformance>[0] = async (steps) => {
    const { baseURL, requests, close } = await fakeProvider(steps)
    const model = openaiCompatible({ model: 'any', baseURL })
    return { model, close, received: () => requests.map(({ body }) => JSON.stringify(body)) }
  }
  modelConformance(start, { skip: { 'finish reasons': 'it gives none' } })
  // @ts-expect-error no such rule
  modelConformance(start, { skip: { 'no such rule': 'it gives none' } })
})
