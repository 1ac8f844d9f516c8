/** An address that says nothing and counts who connects: nobody may have, before options were checked. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export class CountingServer implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #sockets: Socket[] = []

  private constructor(server: Server) {
    this.#server = server
    this.url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('connection', (socket) => this.#sockets.push(socket))
  }

  static async start(): Promise<CountingServer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new CountingServer(server)
  }

  /**
   * How many connections were made. A connection that was begun before this call is on its way within a turn or two, and is accepted before our
   * second one.
   */
  async connections(): Promise<number> {
    await this.#connect()
    await this.#connect()
    return this.#sockets.length - 2
  }

  /** Resolves when a connection of our own was accepted. */
  async #connect(): Promise<void> {
    const own = connect((this.#server.address() as AddressInfo).port, '127.0.0.1')
    await once(own, 'connect')
    const isAccepted = () => this.#sockets.some(({ remotePort }) => remotePort === own.localPort)
    while (!isAccepted()) await once(this.#server, 'connection')
    own.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
