/// <reference types="node" />
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '@koagent/core'

/** A server on this machine's loopback address, until `close`. */
export interface LocalServer {
  /** Such as 'http://127.0.0.1:41234'. */
  readonly url: string
  /** What an OpenAI client takes: `url` with '/v1'. */
  readonly baseURL: string
  /** Ends open answers too. */
  close(): Promise<void>
}

/** Starts one. It has no key, so anything that runs on this machine can reach it. `port` 0 is any free one. */
export async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  port: number = 0,
): Promise<LocalServer> {
  const server = createServer(handle)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const closed = once(server, 'close')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    baseURL: `${url}/v1`,
    async close() {
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export function sendJson(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}
