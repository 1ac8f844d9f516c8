/** Duty: where the result of a session goes when it ends: the form that a caller gives, and the text that the record of the root holds. */
import { isObject } from '../check/is-object.ts'
import { fromJson } from '../json.ts'

export type Notify =
  /** A queue of BullMQ in the same Redis. `prefix`: the prefix of its keys; default `bull`, like that of BullMQ. */
  | { readonly queue: string; readonly prefix?: string | undefined }
  /** A signed POST. */
  | { readonly url: string }

const textMax = 2_000

/** What is wrong with the value, in the form of "is …"; null if it can be used. */
export function notifyProblem(value: unknown): string | null {
  if (!isObject(value)) return 'must be an object like { queue: "results" } or { url: "https://…" }'
  const { queue, prefix, url, ...others } = value as Record<string, unknown>
  const unknown = Object.keys(others)[0]
  if (unknown !== undefined) return `has no field ${JSON.stringify(unknown)}: it takes queue and prefix, or url`
  if ((queue === undefined) === (url === undefined)) return 'takes either queue or url'
  if (queue !== undefined) {
    const isName = (name: unknown) => typeof name === 'string' && /^[^:\s]{1,100}$/.test(name)
    if (!isName(queue)) return 'has a queue that BullMQ cannot have: up to 100 characters without colons and spaces'
    if (prefix !== undefined && !(typeof prefix === 'string' && /^\S{1,100}$/.test(prefix)))
      return 'has a prefix that is no text'
    return null
  }
  if (prefix !== undefined) return 'takes a prefix only with a queue'
  const problem = addressProblem(url)
  return problem === null ? null : `has a url ${problem}`
}

/** What is wrong with an address to which requests are to go, in the form of "that is …"; null if it can be used. The address is not quoted. */
export function addressProblem(url: unknown): string | null {
  const address = typeof url === 'string' && url.length <= textMax && URL.canParse(url) ? new URL(url) : null
  if (address === null || !/^https?:$/.test(address.protocol)) return 'that is no address of http or https'
  if (address.username !== '' || address.password !== '')
    return 'with a user or a password: the request is signed instead'
  return null
}

export function encodeNotify(notify: Notify): string {
  return JSON.stringify(notify)
}

/** Null for a text that another program wrote. */
export function decodeNotify(text: string): Notify | null {
  const value = fromJson(text)
  return notifyProblem(value) === null ? (value as Notify) : null
}
