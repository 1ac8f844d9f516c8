import vm from 'node:vm'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { type DeepReadonly, isRefusedWrite, readOnly } from '../../src/core/read-only.ts'

class Account {
  #cents = 0
  notes: string[] = []
  add(cents: number): number {
    this.#cents += cents
    return this.#cents
  }
}

// biome-ignore lint/suspicious/noExplicitAny: each write is one that the types refuse
type Any = any

const writes: readonly [string, unknown, (value: Any) => unknown][] = [
  ['an assigned field', { n: 1 }, (value) => (value.n = 2)],
  ['a counted field', { n: 1 }, (value) => value.n++],
  ['a new field', { n: 1 }, (value) => (value.m = 2)],
  ['a deleted field', { n: 1 }, (value) => delete value.n],
  ['a defined field', { n: 1 }, (value) => Object.defineProperty(value, 'm', { value: 1 })],
  ['an assigned object', { n: 1 }, (value) => Object.assign(value, { n: 2 })],
  ['a field of an item', { list: [{ n: 1 }] }, (value) => (value.list[0].n = 2)],
  ['a push', [1], (value) => value.push(2)],
  ['a pop', [1], (value) => value.pop()],
  ['a shift', [1, 2], (value) => value.shift()],
  ['a splice', { list: [1, 2] }, (value) => value.list.splice(0, 1)],
  ['a sort', [2, 1], (value) => value.sort()],
  ['a fill', [2, 1], (value) => value.fill(0)],
  ['a length', [2, 1], (value) => (value.length = 0)],
  ['a set of a Map', { map: new Map([['a', 1]]) }, (value) => value.map.set('a', 2)],
  ['a clear of a Map', new Map([['a', 1]]), (value) => value.clear()],
  ['a field within a frozen object', Object.freeze({ list: [{ n: 1 }] }), (value) => (value.list[0].n = 2)],
  ['a push within a frozen list', { list: Object.freeze([[1]]) }, (value) => value.list[0].push(2)],
  ['a field within a frozen Map', Object.freeze(new Map([['a', { n: 1 }]])), (value) => (value.get('a').n = 2)],
  ['a field within a Map', new Map([['a', { n: 1 }]]), (value) => (value.get('a').n = 2)],
  ['an add of a Set', new Set([1]), (value) => value.add(2)],
  ['a delete of a Set', new Set([1]), (value) => value.delete(1)],
  ['a field without a prototype', Object.assign(Object.create(null), { n: 1 }), (value) => (value.n = 2)],
  ['a field of an object of another realm', vm.runInNewContext('({ n: 1 })'), (value) => (value.n = 2)],
]

test.each(writes)('%s is refused, and recognised as a refused write', (_, value, write) => {
  const before = structuredClone(value)
  readOnly(value)
  let thrown: unknown
  try {
    write(value)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(TypeError)
  expect(isRefusedWrite(thrown)).toBe(true)
  expect(structuredClone(value)).toEqual(before)
})

test('an error of another kind is no refused write', () => {
  for (const thrown of [new TypeError('x is not a function'), new Error('Cannot add property x'), null, 'Cannot'])
    expect(isRefusedWrite(thrown)).toBe(false)
})

describe('a value that is made read-only', () => {
  test('a read-only value is the same value, and reads as before', () => {
    const value = { list: [1, { a: 'b' }], map: new Map([['k', new Set([1])]]), none: null }
    const text = JSON.stringify(value)
    expect(readOnly(value)).toBe(value)
    expect(JSON.stringify(value)).toBe(text)
    expect(value.map.get('k')?.has(1)).toBe(true)
    expect([...value.map.keys()]).toEqual(['k'])
    expect(structuredClone(value)).toEqual(value)
    expect(readOnly(value)).toBe(value)
  })

  test('a read-only value leaves instances of classes as they are, with what they hold', () => {
    const value = readOnly({ account: new Account(), when: new Date(0), bytes: new Uint8Array(2), url: new URL('a:b') })
    expect(value.account.add(5)).toBe(5)
    value.account.notes.push('paid')
    value.when.setFullYear(2000)
    value.bytes[0] = 1
    value.url.hash = 'c'
    expect(value.account.notes).toEqual(['paid'])
  })

  test('a read-only value may contain itself, or be nested deeper than the stack allows', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    const map = new Map()
    expect(readOnly([map, map])).toEqual([map, map])
    expect(Object.isFrozen(readOnly(circle))).toBe(true)
    let deep: unknown = []
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(Object.isFrozen(readOnly(deep))).toBe(true)
  })
})

test('the type is read-only at every depth, and keeps dates, functions and unknown', () => {
  type State = {
    n: number
    list: { tags: string[] }[]
    map: Map<string, number[]>
    when: Date
    raw: unknown
    pair: [number, string[]]
  }
  expectTypeOf<DeepReadonly<State>>().toEqualTypeOf<{
    readonly n: number
    readonly list: readonly { readonly tags: readonly string[] }[]
    readonly map: ReadonlyMap<string, readonly number[]>
    readonly when: Date
    readonly raw: unknown
    readonly pair: readonly [number, readonly string[]]
  }>()
})
