import { onTestFinished } from 'vitest'
import { fakeProvider } from '../fake/fake.ts'
import type { FakeProvider, FakeScript } from '../fake/fake.ts'

/** A fake provider until the end of the test. */
export async function serve(...answers: readonly FakeScript[]): Promise<FakeProvider> {
  const provider = await fakeProvider(answers)
  onTestFinished(provider.close)
  return provider
}
