/**
 * Duty: send one signed request.
 * POST-1 The connection goes to the address that was checked, whatever the name says a moment later. Redirects are not followed.
 * POST-2 Nothing of the answer is kept but its status; at most a bounded part of it is read.
 */
import type { RequestOptions } from 'node:http'
import { addressOf, type HostAddress } from './public-address.ts'
import { signedHeaders } from './signature.ts'

export interface PostOptions {
  readonly secrets: readonly string[]
  readonly allowPrivateAddresses: boolean
  readonly resolve?: ((host: string) => Promise<readonly HostAddress[]>) | undefined
}

const answerMsMax = 10_000

/** Returns the status of the answer. Throws if there was none. */
export async function signedPost(target: string, id: string, body: string, options: PostOptions): Promise<number> {
  const url = new URL(target)
  const { address, family } = await addressOf(url, options.allowPrivateAddresses, options.resolve)
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'troupe',
    ...signedHeaders(options.secrets, { id, body, atMs: Date.now() }),
  }
  const lookup: RequestOptions['lookup'] = (_host, { all }, done) => {
    if (all) done(null, [{ address, family }])
    else done(null, address, family)
  }
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  // Loaded here: a node that posts nothing starts faster.
  const { request: send } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const signal = AbortSignal.timeout(answerMsMax)
  const sent = send(url, { method: 'POST', headers, lookup, agent: false, signal }, (answer) => {
    resolve(answer.statusCode ?? 0)
    answer.destroy()
  })
  sent.on('error', (cause) =>
    reject(signal.aborted ? new Error(`${url.host} gave no answer within ${answerMsMax / 1_000} s`, { cause }) : cause),
  )
  // Not every end is an answer or an error: an answer of 101 is neither.
  sent.on('close', () => reject(new Error(`${url.host} gave no answer`)))
  sent.end(body)
  return promise
}
