/** A server that answers each request as a test says, for faults that the fake provider cannot give. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RawProvider extends AsyncDisposable {
  readonly url: string
  readonly requests: { readonly headers: IncomingMessage['headers']; readonly body: string }[]
}

export async function rawProvider(
  answer: (response: ServerResponse, body: string) => void | Promise<void>,
): Promise<RawProvider> {
  const requests: RawProvider['requests'] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      requests.push({ headers: request.headers, body })
      Promise.try(answer, response, body).catch(() => response.destroy())
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}

/** Begins an event stream and writes these events of the chat protocol. */
export function writeChunks(response: ServerResponse, deltas: readonly unknown[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const delta of deltas) response.write(chunkOf(delta))
}

export function endChunks(response: ServerResponse, reason = 'stop'): void {
  response.end(`${chunkOf({}, reason)}data: [DONE]\n\n`)
}

/** Makes one event of the chat protocol. */
export function chunkOf(delta: unknown, reason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: reason }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'test-model', choices })}\n\n`
}
