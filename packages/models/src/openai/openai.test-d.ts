import type { Model } from '@koagent/core'
import OpenAI, { AzureOpenAI } from 'openai'
import { expectTypeOf, test } from 'vitest'
import { openai } from './openai.ts'

test('a client, or what makes one', () => {
  expectTypeOf(openai({ model: 'm' })).toEqualTypeOf<Model>()
  openai({ model: 'm', api: 'chat', provider: 'p', apiKey: () => Promise.resolve('k'), baseURL: 'u', headers: { a: 'b' }, fetch })
  openai({ model: 'm', client: new OpenAI() })
  openai({ model: 'm', api: 'chat', provider: 'p', client: new AzureOpenAI() })
})

test('not both', () => {
  const client = new OpenAI()
  // @ts-expect-error
  openai({ model: 'm', client, apiKey: 'k' })
  // @ts-expect-error
  openai({ model: 'm', client, baseURL: 'u' })
  // @ts-expect-error
  openai({ model: 'm', client, headers: {} })
  // @ts-expect-error
  openai({ model: 'm', client, fetch })
})

test('no other api, and no model without a name', () => {
  // @ts-expect-error
  openai({ model: 'm', api: 'assistants' })
  // @ts-expect-error
  openai({})
})
