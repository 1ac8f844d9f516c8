/** Duty: write values of authors and callers as JSON text, or refuse them with an error that says why they cannot be written. */
import { jsonTextProblem } from './check/json-text.ts'
import { InputError, LimitError } from './errors.ts'
import { policy } from './policy.ts'

/**
 * Built-in objects that JSON would write as `{}`: type, name, and what to pass instead. A Promise is usually a forgotten await. A Response is
 * recognised by its name, because mentioning the class makes Node load its whole fetch code in each process.
 */
const emptied: readonly (readonly [(new (...args: never[]) => object) | string, string, string])[] = [
  [Promise, 'a Promise', 'await it first'],
  [Map, 'a Map', 'pass an object, like Object.fromEntries(map)'],
  [Set, 'a Set', 'pass a list, like [...set]'],
  [Error, 'an Error', 'pass its message'],
  ['Response', 'a Response', 'await its text() or json()'],
]

/** A shorter text cannot be nested too deeply: each level has two brackets. */
const shortestDeep = 2 * policy.jsonDepthMax

/** `undefined` becomes null. Throws an InputError for a value that JSON cannot hold, and a LimitError for one that is too large. */
export function toJson(value: unknown, what: string, bytesMax: number = policy.messageBytesMax): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value === undefined ? null : value)
  } catch (cause) {
    throw new InputError(`${what} cannot be written as JSON: ${whyNoJson(cause)}`, { cause })
  }
  if (text === undefined) throw new InputError(`${what} cannot be written as JSON: ${withoutJson(value)}`)
  const emptied = emptiedBy(value, text)
  if (emptied !== null) throw new InputError(`${what} is ${emptied}`)
  // A UTF-16 unit has at most three bytes in UTF-8, so most values need not be measured.
  if (text.length * 3 > bytesMax) {
    const bytes = Buffer.byteLength(text)
    if (bytes > bytesMax) {
      throw new LimitError(
        'message_too_big',
        `${what} has ${bytes} bytes of JSON; the limit is ${bytesMax}. Store large data elsewhere and pass a reference.`,
      )
    }
  }
  // After the size, because this reads the whole text.
  const nested =
    text.length < shortestDeep ? null : jsonTextProblem(text, { depthMax: policy.jsonDepthMax, partsMax: text.length })
  if (nested !== null) throw new InputError(`${what} ${nested}: pass a flatter value.`)
  // After the size: the walk through a value of many MB would block the process.
  if (text.includes('{}')) checkWithin(value, what)
  return text
}

/** Why `JSON.stringify` threw. V8's message about a circular value has several lines; the last one names where the circle closes. */
export function whyNoJson(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const { message } = thrown
  if (!(thrown instanceof TypeError)) return message
  if (message.startsWith('Do not know how to serialize a BigInt'))
    return 'a bigint has no JSON form: pass a number, or its digits as a text.'
  const [, place] = /^Converting circular structure to JSON.*--- (.*) closes the circle/s.exec(message) ?? []
  return place === undefined ? message : `it contains itself, by ${place}: pass a value without circles.`
}

/** Why `JSON.stringify` returned undefined for this value. */
export function withoutJson(value: unknown): string {
  return typeof value === 'object' ? 'its toJSON() returned undefined.' : `a ${typeof value} has no JSON form.`
}

/**
 * If JSON would write this value as an empty object, says what it is and what to pass instead; otherwise null. Values within it are not
 * checked. A value with a `toJSON` decides for itself.
 */
export function emptiedBy(value: unknown, json: string): string | null {
  if (json !== '{}' && !(value instanceof Error)) return null
  const found = builtIn(value as object)
  if (found !== null || hasOwnForm(value as object)) return found
  const isIterable = Symbol.iterator in (value as object) || Symbol.asyncIterator in (value as object)
  return isIterable ? 'a stream or another iterable, which has no JSON form: pass a list of what it yields.' : null
}

function builtIn(value: object): string | null {
  if (hasOwnForm(value)) return null
  const name = Object.prototype.toString.call(value).slice('[object '.length, -1)
  const found = emptied.find(([type]) => (typeof type === 'string' ? name === type : value instanceof type))
  return found === undefined ? null : `${found[1]}, which has no JSON form: ${found[2]}.`
}

function hasOwnForm(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

/** A part of a value, the part that holds it, and its name there. */
interface Part {
  readonly value: object
  readonly holder: Part | null
  readonly name: string | number
}

/**
 * Refuses a value that holds, for example, a Map: it would come back without its content and break a later turn. The walk does not recurse,
 * because a value may be nested deeper than the stack allows. The value has no circles; otherwise JSON.stringify would have thrown. The walk
 * skips everything that is no object, because a large state is checked each time it is set.
 */
function checkWithin(value: unknown, what: string): void {
  const open: Part[] = []
  const note = (member: unknown, holder: Part | null, name: string | number) => {
    if (typeof member === 'object' && member !== null && !hasOwnForm(member)) open.push({ value: member, holder, name })
  }
  note(value, null, '')
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (Array.isArray(part.value)) {
      for (const [index, member] of part.value.entries()) note(member, part, index)
      continue
    }
    const names = Object.keys(part.value)
    for (const name of names) note((part.value as Record<string, unknown>)[name], part, name)
    const emptied = names.length === 0 ? builtIn(part.value) : null
    if (emptied !== null) throw new InputError(`${what} holds, at ${pathOf(part)}, ${emptied}`)
  }
}

function pathOf(part: Part): string {
  let path = ''
  for (let { name, holder } = part; holder !== null; { name, holder } = holder)
    path = (typeof name === 'number' ? `[${name}]` : `.${name}`) + path
  return path
}

/** Parses a stored text that another program may have damaged. Null if it is not JSON. */
export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Does not recurse, because a value may be nested deeper than the stack allows. A value that is no object or list has depth 0. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    const nested = level.filter((item): item is object => typeof item === 'object' && item !== null)
    if (nested.length > 0 && depth >= depthMax) return true
    level = nested.flatMap((item) => (Array.isArray(item) ? (item as unknown[]) : Object.values(item)))
  }
  return false
}
