import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach } from 'vitest'

/** A server of a test file. */
export interface TestServer {
  readonly port: number
  /** What it does with the next requests, once they have been read. */
  answer: RequestListener
  /** How many came in this test. */
  readonly requests: number
  /** How many came since the beginning of the file. */
  readonly connections: number
}

export const json = { 'content-type': 'application/json', 'x-request-id': 'r1' }
export const sse = { 'content-type': 'text/event-stream', 'x-request-id': 'r1' }

/** A server on the loopback address from the first test of the file to its last. */
export function testServer(): TestServer {
  let requests = 0
  let connections = 0
  const server = createServer((request, response) => {
    requests++
    request.resume().on('end', () => rig.answer(request, response))
  }).on('connection', () => connections++)
  const rig: TestServer = {
    get port() {
      return (server.address() as AddressInfo).port
    },
    answer: (_, response) => response.destroy(),
    get requests() {
      return requests
    },
    get connections() {
      return connections
    },
  }
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  beforeEach(() => {
    requests = 0
  })
  afterAll(() => void server.close())
  return rig
}

/** A port that nobody listens at. */
export async function deadPort(): Promise<number> {
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  await once(gone.close(), 'close')
  return port
}
