/** A follower of a stream over HTTP, as a program in any language may be: it keeps the last id that it has, dies at any byte, and resumes behind that id. */
import { get, type IncomingMessage } from 'node:http'

/** When a connection is cut: after so many characters or so many ms, whichever comes first. Without: when the server ends it. */
export interface Cut {
  readonly chars: number
  readonly ms: number
  /** True: the connection is reset, as the system does for a process that was killed with data unread. */
  readonly isReset: boolean
}

export interface StoredEvent {
  readonly sessionId: string
  readonly id: string
  readonly type: string
}

export class CutFollower {
  readonly #path: string
  #lastId = '0-0'
  /** Stored events, in the order of their arrival. */
  readonly stored: StoredEvent[] = []

  constructor(path: string) {
    this.#path = path
  }

  /** Connects, and resolves when the connection is over. An event that has not come whole counts as not seen. */
  async follow(server: string, cut?: Cut, isEnough: () => boolean = () => false): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const headers = { 'last-event-id': this.#lastId }
    const request = get(`${server}${this.#path}`, { agent: false, headers }, (response) => {
      if (response.statusCode === 200) this.#read(response, cut?.chars ?? Number.POSITIVE_INFINITY, end, isEnough)
      else reject(new Error(`${this.#path} answered ${response.statusCode}`))
      response.once('close', resolve)
      response.once('error', () => {})
    })
    const end = () => {
      if (cut?.isReset) request.socket?.resetAndDestroy()
      request.destroy()
    }
    let isCut = false
    const timer =
      cut &&
      setTimeout(() => {
        isCut = true
        end()
      }, cut.ms)
    // A connection that is cut before its first byte is an error of its request.
    request.once('error', (error) => (isCut ? resolve() : reject(error)))
    await promise.finally(() => clearTimeout(timer))
  }

  #read(response: IncomingMessage, charsMost: number, end: () => void, isEnough: () => boolean): void {
    let rest = ''
    let chars = 0
    response.setEncoding('utf8').on('data', (piece: string) => {
      if (chars >= charsMost) return
      rest += piece.slice(0, charsMost - chars)
      chars += piece.length
      const blocks = rest.split('\n\n')
      rest = blocks.pop() as string
      for (const block of blocks) this.#note(block)
      if (chars >= charsMost || isEnough()) end()
    })
  }

  #note(block: string): void {
    const [, id] = /^id: (.*)$/m.exec(block) ?? []
    const [, data] = /^data: (.*)$/m.exec(block) ?? []
    if (id !== undefined) this.#lastId = id
    if (data === undefined) return
    const event = JSON.parse(data) as StoredEvent & { readonly transient?: true }
    if (event.transient !== true) this.stored.push({ sessionId: event.sessionId, id: event.id, type: event.type })
  }
}
