/**
 * A way to Redis that can lose an answer: the request goes through and is executed, then the connection is cut before the answer
 * comes back, as when a network fails at the worst moment.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export class LossyProxy implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #losing = false
  #lost = 0

  private constructor(server: Server, target: URL) {
    this.#server = server
    const url = new URL(target)
    url.hostname = '127.0.0.1'
    url.port = String((server.address() as AddressInfo).port)
    this.url = url.toString()
    server.on('connection', (client) => this.#carry(client, target))
  }

  static async start(redisUrl: string): Promise<LossyProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new LossyProxy(server, new URL(redisUrl))
  }

  /** The next answer of Redis, on any connection, does not arrive. */
  loseNextAnswer(): void {
    this.#losing = true
  }

  /** How many answers the proxy lost. */
  get lost(): number {
    return this.#lost
  }

  #carry(client: Socket, target: URL): void {
    const redis = connect(Number(target.port || 6379), target.hostname)
    for (const socket of [client, redis]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        redis.destroy()
      })
    }
    client.on('data', (data) => redis.write(data))
    redis.on('data', (data) => {
      if (!this.#losing) {
        client.write(data)
        return
      }
      this.#losing = false
      this.#lost++
      client.destroy()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
