/**
 * Duty: ask a Redis on this machine one question: connect, authenticate, ask, read the first line of the answer, disconnect.
 * Finding and starting a server needs no more than this. Everything else in troupe talks to Redis through store/.
 */
import { connect } from 'node:net'

export type RedisAnswer =
  | { readonly kind: 'answer'; readonly text: string }
  /** The server answered with an error: wrong password, still loading its data, … */
  | { readonly kind: 'refusal'; readonly text: string }
  /** Nobody listens. */
  | { readonly kind: 'nobody' }
  /** Something listens whose answer is not that of a Redis, or is incomplete. */
  | { readonly kind: 'stranger' }
  /** Something closed the connection without an answer: a server for TLS, or a Redis that is ending. */
  | { readonly kind: 'hangUp' }
  /** Something listens and does not answer in time. */
  | { readonly kind: 'silence' }

export interface RedisAddress {
  readonly port: number
  readonly password?: string | undefined
}

const loopback = '127.0.0.1'
/** The first character of an answer of Redis. */
const sign = /^[-+:$*]/

export function addressUrl({ port, password }: RedisAddress): string {
  return password ? `redis://:${password}@${loopback}:${port}` : `redis://${loopback}:${port}`
}

/** Sends the question only after the password was accepted, so that nothing is asked of a foreign server. */
export function askRedis({ port, password }: RedisAddress, question: string, msMax = 2_000): Promise<RedisAnswer> {
  const { promise, resolve } = Promise.withResolvers<RedisAnswer>()
  const lines = password ? [`AUTH ${password}`, question] : [question]
  const socket = connect({ host: loopback, port })
  const sendNext = () => socket.write(`${lines.shift()}\r\n`)
  let received = ''
  let hasAnswered = false
  const end = () => resolve({ kind: hasAnswered ? 'silence' : received === '' ? 'hangUp' : 'stranger' })
  socket.setTimeout(msMax, () => resolve({ kind: 'silence' }))
  socket.on('connect', sendNext)
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1')
    // The first byte decides: a foreign server may never send the end of a line.
    if (!sign.test(received)) return resolve({ kind: 'stranger' })
    const lineEnd = received.indexOf('\r\n')
    if (lineEnd < 0) return
    const [line, text] = [received.slice(0, lineEnd), received.slice(1, lineEnd)]
    received = ''
    hasAnswered = true
    if (line.startsWith('-')) resolve({ kind: 'refusal', text })
    else if (lines.length === 0) resolve({ kind: 'answer', text })
    else sendNext()
  })
  socket.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'ECONNRESET' || code === 'EPIPE') end()
    else resolve({ kind: code === 'ECONNREFUSED' ? 'nobody' : 'silence' })
  })
  socket.on('close', end)
  return promise.finally(() => socket.destroy())
}
