/**
 * Duty: read a value that another program wrote, field by field. Every fault names its place: `messages[3].content[0].text`.
 * FOREIGN-VALUE-1 Nothing here throws anything but an InputError that names the place.
 */
import { isObject } from '../../core/check/is-object.ts'
import { preview } from '../../core/check/preview.ts'
import { InputError } from '../../core/errors.ts'
import type { Json } from '../../core/history/chat/chat-message.ts'
import { isTime } from '../../core/hours.ts'

export class Foreign {
  readonly value: unknown
  /** The place of the value. Empty for the whole source. */
  readonly path: string

  constructor(value: unknown, path = '') {
    this.value = value
    this.path = path
  }

  /** True if there is no value: the field is missing, or null. */
  get isNone(): boolean {
    return this.value === undefined || this.value === null
  }

  get isObject(): boolean {
    return isObject(this.value)
  }

  get isList(): boolean {
    return Array.isArray(this.value)
  }

  get isText(): boolean {
    return typeof this.value === 'string'
  }

  /** An error for `throw` that says what is wrong here. */
  wrong(what: string): InputError {
    return new InputError(this.path === '' ? `the conversation ${what}` : `${this.path} ${what}`)
  }

  #isNot(what: string): InputError {
    return this.wrong(
      this.value === undefined ? `is missing: it must be ${what}.` : `must be ${what}, not ${preview(this.value)}.`,
    )
  }

  /** A field of an object. If several names are given, the first field that exists: other programs spell them differently. */
  field(...names: readonly string[]): Foreign {
    if (!isObject(this.value)) throw this.#isNot('an object')
    const there = names.find((name) => Object.hasOwn(this.value as object, name) && (this.value as never)[name] != null)
    const name = there ?? names[0] ?? ''
    return new Foreign(Object.hasOwn(this.value, name) ? this.value[name] : undefined, this.#pathOf(name))
  }

  /** `line 2: data`, `messages[3].content`. */
  #pathOf(name: string): string {
    if (this.path === '') return name
    return this.path.endsWith(':') ? `${this.path} ${name}` : `${this.path}.${name}`
  }

  has(...names: readonly string[]): boolean {
    return isObject(this.value) && names.some((name) => Object.hasOwn(this.value as object, name))
  }

  /** The items of a list. */
  items(): readonly Foreign[] {
    if (!Array.isArray(this.value)) throw this.#isNot('a list')
    return this.value.map((item, index) => new Foreign(item, `${this.path}[${index}]`))
  }

  /** The items of a list; none if there is no value. */
  itemsIfAny(): readonly Foreign[] {
    return this.isNone ? [] : this.items()
  }

  /** The items of a list; of another value, the value as the only item; none if there is no value. */
  itemsOrOne(): readonly Foreign[] {
    if (this.isNone) return []
    return this.isList ? this.items() : [this]
  }

  /** The fields of an object, each with its name. */
  entries(): readonly (readonly [name: string, value: Foreign])[] {
    if (!isObject(this.value)) throw this.#isNot('an object')
    return Object.entries(this.value).map(([name, value]) => [name, new Foreign(value, this.#pathOf(name))])
  }

  text(): string {
    if (typeof this.value !== 'string') throw this.#isNot('a text')
    return this.value
  }

  /** Undefined if there is no value. */
  textIfAny(): string | undefined {
    return this.isNone ? undefined : this.text()
  }

  /** A number; 0 for anything else, because nothing depends on it. */
  numberOr0(): number {
    return typeof this.value === 'number' && Number.isFinite(this.value) ? this.value : 0
  }

  /** One of these words, in whatever case it is written. */
  word<const Word extends string>(words: readonly Word[]): Word {
    const text = this.text()
    const word = words.find((one) => one.toLowerCase() === text.toLowerCase())
    if (word === undefined) throw this.#isNot(`one of ${words.join(', ')}`)
    return word
  }

  /** The value as it is. What was decoded from JSON is JSON. */
  json(): Json {
    return (this.value ?? null) as Json
  }

  /** A time in milliseconds: from RFC 3339, or from a number of seconds or milliseconds. 0 if the value is none of these. */
  time(): number {
    const { value } = this
    const at = typeof value === 'string' ? Date.parse(value) : typeof value === 'number' ? msOf(value) : Number.NaN
    return isTime(at) ? Math.max(0, at) : 0
  }
}

function msOf(time: number): number {
  return Math.round(time < 1e11 ? time * 1_000 : time)
}
