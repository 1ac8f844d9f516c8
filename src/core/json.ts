/** Duty: write values of authors and callers as JSON text, or refuse them with an error that says why they cannot be written. */
import { types } from 'node:util'
import { isError } from './check/is-error.ts'
import { jsonTextProblem } from './check/json-text.ts'
import { InputError, LimitError } from './errors.ts'
import { policy } from './policy.ts'

/**
 * What to pass instead of a built-in object that JSON would write as `{}`, by its name. For a Promise, which is usually a forgotten await. Objects
 * are recognised by their names, so that those of another realm are too, and Node need not load its whole fetch code in each process.
 */
const instead: Readonly<Record<string, string>> = {
  Promise: 'await it first',
  Map: 'pass an object, like Object.fromEntries(map)',
  Set: 'pass a list, like [...set]',
  Error: 'pass its message',
  Request: 'await its text() or json()',
  Response: 'await its text() or json()',
  Blob: 'await its text()',
  File: 'await its text()',
  RegExp: 'pass its source',
  Headers: 'pass an object, like Object.fromEntries(headers)',
  FormData: 'pass an object, like Object.fromEntries(data)',
  URLSearchParams: 'pass its text, like params.toString()',
}
const insteadOfBytes = "pass a text, like Buffer.from(bytes).toString('base64')"

/** A shorter text cannot be nested too deeply: each level has two brackets. */
const shortestDeep = 2 * policy.jsonDepthMax

/** `undefined` becomes null. Throws an InputError for a value that JSON cannot hold, and a LimitError for one that is too large. */
export function toJson(value: unknown, what: string, bytesMax: number = policy.messageBytesMax): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value === undefined ? null : value)
  } catch (cause) {
    // JSON.stringify recurses, and the stack ends at some thousands of levels.
    if (cause instanceof RangeError && cause.message.startsWith('Maximum call stack')) throw tooDeep(what)
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
  // This comes after the check of the size, because it reads the whole text.
  const nested =
    text.length < shortestDeep ? null : jsonTextProblem(text, { depthMax: policy.jsonDepthMax, partsMax: text.length })
  if (nested !== null) throw tooDeep(what)
  // This comes after the check of the size: a walk through a value of many MB would block the process.
  if (mayHaveLost.test(text)) checkWithin(value, what)
  return text
}

function tooDeep(what: string): InputError {
  return new InputError(`${what} is nested more than ${policy.jsonDepthMax} deep: pass a flatter value.`)
}

const insteadOfBigint = 'pass a number, or its digits as a text.'
export const noBigint = `a bigint has no JSON form: ${insteadOfBigint}`
export const bigintWithin = `a bigint, which has no JSON form: ${insteadOfBigint}`

/** Why `JSON.stringify` threw. V8's message about a circular value has several lines; the last one names where the circle closes. */
export function whyNoJson(thrown: unknown): string {
  if (!isError(thrown)) return String(thrown)
  const { message } = thrown
  if (!(thrown instanceof TypeError)) return message
  if (message.startsWith('Do not know how to serialize a BigInt')) return noBigint
  const [, place] = /^Converting circular structure to JSON.*--- (.*) closes the circle/s.exec(message) ?? []
  return place === undefined ? message : `it contains itself, by ${place}: pass a value without circles.`
}

/** Why `JSON.stringify` returned undefined for this value. */
export function withoutJson(value: unknown): string {
  return typeof value === 'object' ? 'its toJSON() returned undefined.' : `a ${typeof value} has no JSON form.`
}

/**
 * If JSON would lose this value, says what it is and what to pass instead; otherwise null. Values within it are not checked. A value with a
 * `toJSON` decides for itself.
 */
export function emptiedBy(value: unknown, json: string): string | null {
  const lost = lossOf(value)
  if (lost !== null || json !== '{}' || hasOwnForm(value as object)) return lost
  const isIterable = Symbol.iterator in (value as object) || Symbol.asyncIterator in (value as object)
  return isIterable ? 'a stream or another iterable, which has no JSON form: pass a list of what it yields.' : null
}

function lossOf(value: unknown): string | null {
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : `${value}, which JSON would write as null: pass a finite number, or null.`
  if (typeof value !== 'object' || value === null) return null
  if (types.isDate(value))
    return Number.isNaN(value.getTime())
      ? 'an invalid Date, which JSON would write as null: pass a valid one, or null.'
      : null
  if (hasOwnForm(value) || types.isBoxedPrimitive(value)) return null
  if (isError(value)) return withoutForm('Error', instead.Error)
  const isBytes = ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)
  if (!isBytes && (Array.isArray(value) || Object.keys(value).length > 0)) return null
  const name = Object.prototype.toString.call(value).slice('[object '.length, -1)
  if (name === 'Object') return null
  if (isBytes) return withoutForm(name, insteadOfBytes)
  const isIterable = Symbol.iterator in value || Symbol.asyncIterator in value
  return withoutForm(name, instead[name] ?? (isIterable ? 'pass a list of what it yields' : undefined))
}

function withoutForm(name: string, advice = 'pass plain data'): string {
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}, which has no JSON form: ${advice}.`
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

/** What JSON writes in place of what it loses: objects without fields, numbers that are not finite, bytes. Most texts hold none of these. */
const mayHaveLost = /\{\}|null|"0":/

/**
 * Refuses a value that holds, for example, a Map: it would come back without its content and break a later turn. The walk does not recurse,
 * because a value may be nested deeper than the stack allows. The value has no circles; otherwise JSON.stringify would have thrown. The walk
 * skips everything that cannot be lost, because a large state is checked each time it is set.
 */
function checkWithin(value: unknown, what: string): void {
  const open: Part[] = []
  const note = (member: unknown, holder: Part | null, name: string | number) => {
    if (typeof member === 'string' || member == null) return
    const isInList = typeof name === 'number'
    const isNoValue = typeof member === 'function' || typeof member === 'symbol'
    const lost = isInList && isNoValue ? withoutJson(member) : holder && lossOf(member)
    if (lost !== null) throw new InputError(`${what} holds, at ${pathOf({ name, holder })}, ${lost}`)
    if (typeof member === 'object' && !hasOwnForm(member)) open.push({ value: member, holder, name })
  }
  note(value, null, '')
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (Array.isArray(part.value)) for (const [index, member] of part.value.entries()) note(member, part, index)
    else for (const name of Object.keys(part.value)) note((part.value as Record<string, unknown>)[name], part, name)
  }
}

function pathOf(part: Pick<Part, 'name' | 'holder'>): string {
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
