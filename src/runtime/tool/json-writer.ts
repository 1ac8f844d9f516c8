/**
 * Duty: write what a tool returned as JSON text, and no more of it than anybody reads.
 * JSON-WRITER-1 A whole text is what JSON.stringify writes.
 * JSON-WRITER-2 The work is bounded by `charsMax`, however large the value is. A value of 60 MB would otherwise block the node for so long
 *               that its leases end.
 * JSON-WRITER-3 Bytes, and what JSON would write as an empty object, are refused at any depth.
 */
import { types } from 'node:util'
import { InputError } from '../../core/errors.ts'
import { bigintWithin, emptiedBy, noBigint, withoutJson } from '../../core/json.ts'

export interface WrittenJson {
  readonly text: string
  /** False if the value goes on after this text. */
  readonly isWhole: boolean
  /** How deep objects and lists are nested. */
  readonly depth: number
}

/** Deeper values are refused: only a mistake makes them, and reading them may overflow the stack. */
const depthMax = 500

/** Throws an InputError that says what cannot be written, and whatever a getter or a `toJSON` of the value throws. */
export function writeJson(value: unknown, charsMax: number): WrittenJson {
  const writer = new JsonWriter(charsMax)
  if (!writer.write(value, '')) throw new InputError(`cannot be written as JSON: ${withoutJson(value)}`)
  return writer
}

/** True for a value of JSON.rawJSON: a number with more digits than a JavaScript number holds. TypeScript does not know it yet. */
function isRawJson(value: object): boolean {
  return (JSON as unknown as { isRawJSON(value: object): boolean }).isRawJSON(value)
}

class JsonWriter implements WrittenJson {
  text = ''
  isWhole = true
  depth = 0
  readonly #charsMax: number
  /** The objects around the value that is being written, and their names. */
  readonly #around: object[] = []
  readonly #path: (string | number)[] = []

  constructor(charsMax: number) {
    this.#charsMax = charsMax
  }

  /** False if JSON leaves such a value out. `name` is its name in the object or list that holds it. */
  write(given: unknown, name: string | number): boolean {
    const value = this.#ownForm(given, name)
    switch (typeof value) {
      case 'string':
        this.#writeText(value)
        return true
      case 'number':
      case 'boolean':
        this.text += JSON.stringify(value)
        return true
      case 'bigint':
        throw new InputError(
          this.#where(`cannot be written as JSON: ${noBigint}`, `holds, at ${this.#pathText()}, ${bigintWithin}`),
        )
      case 'object':
        if (value === null) this.text += 'null'
        else this.#writeObject(value)
        return true
      default:
        return false
    }
  }

  #ownForm(given: unknown, name: string | number): unknown {
    // A program may give bigints a form of their own, as libraries of databases advise, and functions too.
    const mayHaveForm = typeof given === 'object' || typeof given === 'function' || typeof given === 'bigint'
    if (!mayHaveForm || given === null) return given
    if (typeof given === 'object') this.#refuseBytes(given)
    const { toJSON } = given as { toJSON?: unknown }
    const value: unknown = typeof toJSON === 'function' ? (toJSON.call(given, String(name)) as unknown) : given
    return types.isBoxedPrimitive(value) ? value.valueOf() : value
  }

  #refuseBytes(value: object): void {
    const isBytes = ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer
    if (!isBytes) return
    const bytes = `is binary (${value.byteLength} bytes)`
    throw new InputError(
      `${this.#where(bytes, `holds, at ${this.#pathText()}, ${value.byteLength} bytes of binary data`)}: give text, like buffer.toString('utf8'), or a list of numbers.`,
    )
  }

  #writeText(value: string): void {
    const room = this.#charsMax - this.text.length
    if (value.length > room) this.isWhole = false
    this.text += JSON.stringify(value.length > room ? value.slice(0, Math.max(0, room)) : value)
  }

  #writeObject(value: object): void {
    if (this.#around.includes(value)) {
      throw new InputError(
        `cannot be written as JSON: it contains itself, at ${this.#pathText()}: pass a value without circles.`,
      )
    }
    this.#around.push(value)
    this.depth = Math.max(this.depth, this.#around.length)
    if (this.depth > depthMax)
      throw new InputError(`cannot be written as JSON: it is nested more than ${depthMax} deep.`)
    if (isRawJson(value)) this.text += JSON.stringify(value)
    else if (Array.isArray(value)) this.#writeList(value)
    else this.#writeFields(value)
    this.#around.pop()
  }

  #writeList(list: readonly unknown[]): void {
    this.text += '['
    for (let index = 0; index < list.length && this.#hasRoom(); index++) {
      if (index > 0) this.text += ','
      this.#path.push(index)
      if (!this.write(list[index], index)) this.text += 'null'
      this.#path.pop()
    }
    this.text += ']'
  }

  #writeFields(value: object): void {
    const names = Object.keys(value)
    const emptied = names.length === 0 || value instanceof Error ? emptiedBy(value, '{}') : null
    if (emptied !== null)
      throw new InputError(this.#where(`is ${emptied}`, `holds, at ${this.#pathText()}, ${emptied}`))
    this.text += '{'
    let isFirst = true
    for (const name of names) {
      if (!this.#hasRoom()) break
      const before = this.text
      if (!isFirst) this.text += ','
      this.#writeText(name)
      this.text += ':'
      this.#path.push(name)
      if (this.write((value as Record<string, unknown>)[name], name)) isFirst = false
      else this.text = before
      this.#path.pop()
    }
    this.text += '}'
  }

  #hasRoom(): boolean {
    if (this.text.length < this.#charsMax) return true
    this.isWhole = false
    return false
  }

  /** The first text for the value itself, the second for a part of it. */
  #where(whole: string, part: string): string {
    return this.#path.length === 0 ? whole : part
  }

  #pathText(): string {
    return this.#path.map((name) => (typeof name === 'number' ? `[${name}]` : `.${name}`)).join('')
  }
}
