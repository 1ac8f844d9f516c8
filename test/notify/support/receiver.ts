/** The receiver of deliveries: an HTTP server that keeps what it receives. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

/** An HTTP server that answers with these statuses in turn, and 200 afterwards. */
export class Receiver implements AsyncDisposable {
  readonly received: Received[] = []
  /** True: the server does not answer from now on. */
  hangs = false
  readonly #server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      this.received.push({ url: request.url ?? '', headers: request.headers as Record<string, string>, body })
      if (this.hangs) return
      const status = this.#statuses.shift() ?? 200
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('ok')
    })
  })
  #statuses: number[] = []

  async listen(...statuses: number[]): Promise<string> {
    this.#statuses = statuses
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
