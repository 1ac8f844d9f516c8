/** Duty: values of authors and callers as JSON text, once, with a clear error where that cannot be. */
import { InputError, LimitError } from './errors.ts'
import { policy } from './policy.ts'

/**
 * Built-in objects of which nothing would be left: `{}`. A Promise is a forgotten await. One is known by its name: where the class itself
 * is named, Node loads all that fetches, at the start of each process.
 */
const emptied: readonly (readonly [(new (...args: never[]) => object) | string, string, string])[] = [
  [Promise, 'a Promise', 'await it first'],
  [Map, 'a Map', 'give an object, like Object.fromEntries(map)'],
  [Set, 'a Set', 'give a list, like [...set]'],
  [Error, 'an Error', 'give its message'],
  ['Response', 'a Response', 'await its text() or json()'],
]

/** `undefined` becomes null. Throws an InputError for what JSON cannot hold, a LimitError for what is too big. */
export function toJson(value: unknown, what: string, bytesMax: number = policy.messageBytesMax): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value === undefined ? null : value)
  } catch (cause) {
    throw new InputError(`${what} cannot be written as JSON: ${whyNoJson(cause)}`, { cause })
  }
  if (text === undefined) throw new InputError(`${what} cannot be written as JSON: ${withoutJson(value)}`)
  const nothing = emptiedBy(value, text)
  if (nothing !== null) throw new InputError(`${what} is ${nothing}`)
  if (text.includes('{}')) checkWithin(value, what)
  // A UTF-16 unit is at most three bytes: most values need no count.
  if (text.length * 3 > bytesMax) {
    const bytes = Buffer.byteLength(text)
    if (bytes > bytesMax) {
      throw new LimitError(
        'message_too_big',
        `${what} has ${bytes} bytes of JSON; the limit is ${bytesMax}. Store large data elsewhere and pass a reference.`,
      )
    }
  }
  return text
}

/** Why `JSON.stringify` threw. What V8 says of a circle has several lines, of which the last names the place. */
export function whyNoJson(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const { message } = thrown
  if (!(thrown instanceof TypeError)) return message
  if (message.startsWith('Do not know how to serialize a BigInt'))
    return 'a bigint has no JSON form: give a number, or its digits as a text.'
  const [, place] = /^Converting circular structure to JSON.*--- (.*) closes the circle/s.exec(message) ?? []
  return place === undefined ? message : `it contains itself, by ${place}: give a value without circles.`
}

/** Of a value that `JSON.stringify` passes over. */
export function withoutJson(value: unknown): string {
  return typeof value === 'object' ? 'its toJSON() gave nothing.' : `a ${typeof value} has no JSON form.`
}

/**
 * What it is, if nothing of it would be left, and what to give instead. Of the value itself alone. What has a `toJSON` says itself what is
 * left of it.
 */
export function emptiedBy(value: unknown, json: string): string | null {
  if (json !== '{}' && !(value instanceof Error)) return null
  const found = builtIn(value as object)
  if (found !== null || hasOwnForm(value as object)) return found
  const isIterable = Symbol.iterator in (value as object) || Symbol.asyncIterator in (value as object)
  return isIterable ? 'a stream or another iterable, which has no JSON form: give a list of what it yields.' : null
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

/** A part of a value: what holds it, and under which name. */
interface Part {
  readonly value: object
  readonly holder: Part | null
  readonly name: string | number
}

/**
 * A state that came back without the Map it held would break a later turn. Without recursion: a value may be nested deeper than the stack
 * is. It has no circles, or it would have no text. A state may be large, and is looked at each time: what is no object costs nothing.
 */
function checkWithin(value: unknown, what: string): void {
  const open: Part[] = []
  const note = (member: unknown, holder: Part | null, name: string | number) => {
    if (typeof member === 'object' && member !== null && !hasOwnForm(member)) open.push({ value: member, holder, name })
  }
  note(value, null, '')
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (Array.isArray(part.value)) {
      for (const [place, member] of part.value.entries()) note(member, part, place)
      continue
    }
    const names = Object.keys(part.value)
    for (const name of names) note((part.value as Record<string, unknown>)[name], part, name)
    const nothing = names.length === 0 ? builtIn(part.value) : null
    if (nothing !== null) throw new InputError(`${what} holds, at ${placeOf(part)}, ${nothing}`)
  }
}

function placeOf(part: Part): string {
  let place = ''
  for (let { name, holder } = part; holder !== null; { name, holder } = holder)
    place = (typeof name === 'number' ? `[${name}]` : `.${name}`) + place
  return place
}

/** Of a text that others may have written over: null for what is no JSON. */
export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Without recursion: a value may be nested deeper than the stack is. One without brackets has depth 0. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    const nested = level.filter((item): item is object => typeof item === 'object' && item !== null)
    if (nested.length > 0 && depth >= depthMax) return true
    level = nested.flatMap((item) => (Array.isArray(item) ? (item as unknown[]) : Object.values(item)))
  }
  return false
}
