/** A real receiver of what endpoints are told. It keeps every request, accepts most of them, refuses some, and hangs up on some. It may be away for a while. */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../fault-settings.ts'

export interface Request {
  /** By the clock of this process, which is that of Redis. */
  readonly at: number
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly isAccepted: boolean
}

export class EndpointReceiver implements AsyncDisposable {
  readonly requests: Request[] = []
  readonly #random: Random
  #isAway = false
  readonly #server = createServer((request, response) => {
    if (this.#isAway) request.socket.destroy()
    else void this.#receive(request, response).catch(() => {})
  })

  private constructor(random: Random) {
    this.#random = random
  }

  static async start(random: Random): Promise<EndpointReceiver> {
    const receiver = new EndpointReceiver(random)
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  urlOf(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
  }

  /** Is away now and then, for some seconds, until it is over. Resolves with how often it was. */
  async beAway(over: AbortSignal): Promise<number> {
    const wait = (msMax: number) => pause(msMax * this.#random(), undefined, { signal: over }).catch(() => {})
    let times = 0
    while (!over.aborted) {
      await wait(15_000)
      this.#isAway = true
      await wait(10_000)
      this.#isAway = false
      times++
    }
    return times
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now()
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
    const luck = this.#random()
    const isAccepted = luck > 0.1
    this.requests.push({ at, path: request.url ?? '', headers: request.headers, body, isAccepted })
    if (luck < 0.03) response.destroy()
    else response.writeHead(isAccepted ? 204 : 503).end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** As Standard Webhooks says. The age does not count: some nodes have wrong clocks. */
export function isSigned({ headers, body }: Request, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const [id, sentAt] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])]
  const signed = `${id}.${sentAt}.${body}`
  const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  return String(headers['webhook-signature']).split(' ').includes(signature)
}
