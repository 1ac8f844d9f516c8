/**
 * One question to a Redis on this machine: connect, authenticate, ask, hear the first line of the answer, leave.
 * It is all that finding and starting a server needs; everything else in troupe talks through store/.
 */
import { connect } from 'node:net'

export type RedisAnswer =
  | { readonly kind: 'answer'; readonly text: string }
  /** The server is there and refuses: wrong password, still loading its data, … */
  | { readonly kind: 'refusal'; readonly text: string }
  /** Nobody listens. */
  | { readonly kind: 'nobody' }
  /** Somebody listens who says what no Redis says, or not all of it. */
  | { readonly kind: 'stranger' }
  /** Somebody listens who breaks off without a word: a server for TLS, or a Redis that ends just now. */
  | { readonly kind: 'hangUp' }
  /** Somebody listens and does not answer, or not in time. */
  | { readonly kind: 'silence' }

export interface RedisAddress {
  readonly port: number
  readonly password?: string | undefined
}

const loopback = '127.0.0.1'
/** How the answers of a Redis begin. */
const sign = /^[-+:$*]/

export function addressUrl({ port, password }: RedisAddress): string {
  return password ? `redis://:${password}@${loopback}:${port}` : `redis://${loopback}:${port}`
}

/** The question is sent only after the password was accepted: nothing is ever asked of somebody else's server. */
export function askRedis({ port, password }: RedisAddress, question: string, msMax = 2_000): Promise<RedisAnswer> {
  const { promise, resolve } = Promise.withResolvers<RedisAnswer>()
  const lines = password ? [`AUTH ${password}`, question] : [question]
  const socket = connect({ host: loopback, port })
  const sayNext = () => socket.write(`${lines.shift()}\r\n`)
  let heard = ''
  let hasAnswered = false
  const end = () => resolve({ kind: hasAnswered ? 'silence' : heard === '' ? 'hangUp' : 'stranger' })
  socket.setTimeout(msMax, () => resolve({ kind: 'silence' }))
  socket.on('connect', sayNext)
  socket.on('data', (bytes: Buffer) => {
    heard += bytes.toString('latin1')
    // The first byte will do: of a stranger the end of a line may never come.
    if (!sign.test(heard)) return resolve({ kind: 'stranger' })
    const lineEnd = heard.indexOf('\r\n')
    if (lineEnd < 0) return
    const [line, text] = [heard.slice(0, lineEnd), heard.slice(1, lineEnd)]
    heard = ''
    hasAnswered = true
    if (line.startsWith('-')) resolve({ kind: 'refusal', text })
    else if (lines.length === 0) resolve({ kind: 'answer', text })
    else sayNext()
  })
  socket.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'ECONNRESET' || code === 'EPIPE') end()
    else resolve({ kind: code === 'ECONNREFUSED' ? 'nobody' : 'silence' })
  })
  socket.on('close', end)
  return promise.finally(() => socket.destroy())
}
