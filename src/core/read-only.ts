/**
 * Duty: make a value read-only at every depth, in types and at run time, without a copy.
 * READ-ONLY-1 Lists and plain objects are frozen. A Map or a Set keeps its reading methods and gets writing methods that throw.
 * READ-ONLY-2 Any other object is left as it is, also if a plain object holds it: an instance of a class may rely on its own fields.
 * READ-ONLY-3 The walk does not recurse, because a value may be nested deeper than the stack allows.
 */
import { types } from 'node:util'

type Unchanged = string | number | bigint | boolean | symbol | null | undefined | Date | RegExp | URL | Error

/** The same type, read-only at every depth. Dates, functions and the like stay as they are. */
export type DeepReadonly<T> = T extends Unchanged | ((...args: never[]) => unknown)
  ? T
  : T extends ReadonlyMap<infer Key, infer Value>
    ? ReadonlyMap<DeepReadonly<Key>, DeepReadonly<Value>>
    : T extends ReadonlySet<infer Item>
      ? ReadonlySet<DeepReadonly<Item>>
      : T extends object
        ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
        : T

const mapWriters = ['set', 'delete', 'clear'] as const
const setWriters = ['add', 'delete', 'clear'] as const

/** Makes this very value read-only, and returns it. */
export function readOnly<T>(value: T): T {
  const open: object[] = []
  // Those that were frozen before, by this walk or by code of users, which may have frozen them without their insides.
  const seen = new Set<object>()
  const note = (member: unknown) => {
    if (typeof member !== 'object' || member === null || seen.has(member)) return
    if (Object.isFrozen(member)) seen.add(member)
    open.push(member)
  }
  note(value)
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    if (Array.isArray(holder)) {
      Object.freeze(holder)
      for (const member of holder as unknown[]) note(member)
    } else if (isPlain(holder)) {
      Object.freeze(holder)
      for (const name of Object.keys(holder)) note((holder as Record<string, unknown>)[name])
    } else if (types.isMap(holder)) {
      refuseWrites(holder, mapWriters, 'Map')
      for (const [key, member] of holder) for (const part of [key, member]) note(part)
    } else if (types.isSet(holder)) {
      refuseWrites(holder, setWriters, 'Set')
      for (const member of holder) note(member)
    }
  }
  return value
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // This covers an object of another realm, whose prototype is another Object.prototype.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/** Frozen too, so that a second walk leaves its methods as they are. One that somebody else froze takes no other methods, and keeps its own. */
function refuseWrites(holder: object, writers: readonly string[], type: string): void {
  if (Object.isFrozen(holder)) return
  for (const name of writers) {
    const refuse = () => {
      throw new TypeError(`Cannot call ${name} of a read-only ${type}`)
    }
    Object.defineProperty(holder, name, { value: refuse })
  }
  Object.freeze(holder)
}

/** How V8 begins its message about a write to a frozen object; the last one is of `refuseWrites`. */
const writeRefused =
  /^Cannot (?:assign to read only property|add property|delete property|define property|redefine property|call \w+ of a read-only)/

/** True for the error of an attempt to change a value that is read-only. */
export function isRefusedWrite(thrown: unknown): thrown is TypeError {
  try {
    return thrown instanceof TypeError && writeRefused.test(thrown.message)
  } catch {
    return false
  }
}
