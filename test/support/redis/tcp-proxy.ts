/**
 * The network between a node and its Redis, to be disturbed: cut (connections end, new ones are refused), blackhole (connections
 * stay, nothing passes), forgotten (nothing passes over those there are, new ones are served), cut off replies (requests pass, replies
 * do not). Everything passes again after `mend`. Beside these: replies that come late, connections that are reset now and then, and the
 * reply to one sort of request that is lost.
 */
import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

type Mode = 'pass' | 'refuse' | 'hold' | 'holdNew' | 'noReplies'

interface Pair {
  readonly near: Socket
  readonly far: Socket
}

export class TcpProxy implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  readonly #target: URL
  #mode: Mode = 'pass'
  #waiting: Socket[] = []
  #delayMs = 0
  /** Replies that are late: what follows them comes behind them, also if it is not delayed any more. */
  readonly #late = new Map<Socket, Promise<void>>()
  #isReset: () => boolean = () => false
  #losing = { word: '', left: 0, lost: 0 }
  #opened = 0
  #replyBytes = 0

  private constructor(server: Server, target: URL, port: number) {
    this.#server = server
    this.#target = target
    const url = new URL(target)
    url.hostname = '127.0.0.1'
    url.port = String(port)
    this.url = url.toString()
    server.on('connection', (near) => this.#accept(near))
  }

  static async start(targetUrl: string): Promise<TcpProxy> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new TcpProxy(server, new URL(targetUrl), (server.address() as { port: number }).port)
  }

  /** Connections that were accepted and are not served. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Open connections through the proxy. */
  get connections(): number {
    return this.#pairs.size
  }

  /** How many connections there were through the proxy by now. */
  get opened(): number {
    return this.#opened
  }

  /** Bytes that came from Redis by now. */
  get replyBytes(): number {
    return this.#replyBytes
  }

  /** Ends all connections and refuses new ones. */
  cut(): void {
    this.#mode = 'refuse'
    this.#dropAll()
  }

  /** Lets nothing pass in either direction; connections stay open and new ones are accepted but not served. */
  blackhole(): void {
    this.#mode = 'hold'
    this.forget()
  }

  /** Lets nothing pass over the existing connections, which stay open without any notice; new ones are served. */
  forget(): void {
    for (const { near, far } of this.#pairs) {
      near.pause()
      far.pause()
    }
  }

  /** Connections that are open go on; new ones are accepted but not served. */
  holdNew(): void {
    this.#mode = 'holdNew'
  }

  /** Requests reach Redis; no reply comes back. */
  cutReplies(): void {
    this.#mode = 'noReplies'
  }

  /** Replies arrive this much later, in their order. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** Asked for each reply: true ends its connection with a reset. */
  resetWhen(isReset: () => boolean): void {
    this.#isReset = isReset
  }

  /** The next `times` replies to requests that hold this word are lost, each with its connection. The requests are executed. */
  loseReplies(word: string, times: number): void {
    this.#losing = { word, left: times, lost: this.#losing.lost }
  }

  /** How many were lost by now. */
  get repliesLost(): number {
    return this.#losing.lost
  }

  /** Everything passes again. Connections whose replies were swallowed end, as no client could go on with them. */
  mend(): void {
    const was = this.#mode
    this.#mode = 'pass'
    if (was === 'noReplies') this.#dropAll()
    const waiting = this.#waiting
    this.#waiting = []
    for (const near of waiting) if (!near.destroyed) this.#accept(near)
    for (const { near, far } of this.#pairs) {
      near.resume()
      far.resume()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    for (const near of this.#waiting) near.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #accept(near: Socket): void {
    near.on('error', () => {})
    if (this.#mode === 'refuse') return void near.destroy()
    if (this.#mode === 'hold' || this.#mode === 'holdNew') {
      near.pause()
      this.#waiting.push(near)
      return
    }
    const far = tcpConnect(Number(this.#target.port), this.#target.hostname)
    const pair = { near, far }
    this.#pairs.add(pair)
    this.#opened++
    near.setNoDelay(true)
    far.setNoDelay(true)
    let isDoomed = false
    near.on('data', (chunk) => {
      isDoomed ||= this.#losing.left > 0 && chunk.includes(this.#losing.word)
      far.write(chunk)
    })
    far.on('data', (chunk) => {
      this.#replyBytes += chunk.length
      if (isDoomed && this.#losing.left > 0) {
        this.#losing.left--
        this.#losing.lost++
        return end()
      }
      isDoomed = false
      if (this.#mode !== 'noReplies') this.#reply(near, chunk)
    })
    const end = () => {
      this.#pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) socket.on('close', end).on('error', end)
  }

  #reply(near: Socket, chunk: Buffer): void {
    if (this.#isReset()) return void near.resetAndDestroy()
    const write = () => {
      if (near.writable) near.write(chunk)
    }
    const before = this.#late.get(near)
    if (this.#delayMs === 0 && before === undefined) {
      write()
      return
    }
    const written = Promise.all([before, pause(this.#delayMs)]).then(write)
    this.#late.set(near, written)
    void written.then(() => this.#late.get(near) === written && this.#late.delete(near))
  }

  #dropAll(): void {
    for (const { near, far } of this.#pairs) {
      near.destroy()
      far.destroy()
    }
  }
}
