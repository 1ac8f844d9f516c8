/** Values as JSON. A value that cannot be written is refused at once, with its name and what to do. */
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { InputError, LimitError } from '../../src/core/errors.ts'
import { isDeeperThan, toJson } from '../../src/core/json.ts'
import { policy } from '../../src/core/policy.ts'

describe('toJson', () => {
  test('any JSON value comes back unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(toJson(value, 'it'))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('undefined becomes null', () => {
    expect(toJson(undefined, 'it')).toBe('null')
  })

  test('a half surrogate pair is written as an escape, so that no byte is lost', () => {
    expect(toJson('\ud800', 'it')).toBe('"\\ud800"')
  })

  const circular: Record<string, unknown> = {}
  circular.self = circular
  const circle: unknown[] = []
  circle.push({ on: circle })
  const throwing = {
    toJSON() {
      throw new Error('not today')
    },
  }
  test.each([
    [
      'a circle',
      circular,
      "the input cannot be written as JSON: it contains itself, by property 'self': pass a value without circles.",
    ],
    [
      'a longer circle',
      { list: [0, circle] },
      "the input cannot be written as JSON: it contains itself, by property 'on': pass a value without circles.",
    ],
    [
      'a bigint',
      { price: 1n },
      /^the input cannot be written as JSON: a bigint has no JSON form: pass a number, or its digits as a text\.$/,
    ],
    [
      'what gives nothing',
      { toJSON() {} },
      /the input cannot be written as JSON: its toJSON\(\) returned undefined\.$/,
    ],
    ['a function', () => 1, /the input cannot be written as JSON: a function has no JSON form/],
    ['a symbol', Symbol('x'), /the input cannot be written as JSON: a symbol has no JSON form/],
    ['what throws itself', throwing, /the input cannot be written as JSON: not today/],
  ])('%s is refused by name', (_, value, message) => {
    expect(() => toJson(value, 'the input')).toThrow(InputError)
    expect(() => toJson(value, 'the input')).toThrow(message)
  })

  test.each([
    [Promise.resolve(1), 'the reply is a Promise, which has no JSON form: await it first.'],
    [new Map([[1, 2]]), 'the reply is a Map, which has no JSON form: pass an object, like Object.fromEntries(map).'],
    [new Set([1]), 'the reply is a Set, which has no JSON form: pass a list, like [...set].'],
    [new TypeError('x'), 'the reply is an Error, which has no JSON form: pass its message.'],
    [Object.assign(new Error('x'), { code: 1 }), 'the reply is an Error, which has no JSON form: pass its message.'],
  ])('%o, which JSON would write as an empty object, is refused', (value, message) => {
    expect(() => toJson(value, 'the reply')).toThrow(new InputError(message))
  })

  test.each([
    [{ seen: new Map() }, 'the state holds, at .seen, a Map, which has no JSON form: pass an object'],
    [{ a: [{}, { 'b c': new Set([1]) }] }, 'the state holds, at .a[1].b c, a Set, which has no JSON form'],
    [[1, Promise.resolve(2)], 'the state holds, at [1], a Promise, which has no JSON form: await it first.'],
    [{ status: 'rejected', reason: new Error('x') }, 'the state holds, at .reason, an Error, which has no JSON form'],
  ])('%o, of which JSON would lose a part, is refused with the path of that part', (value, message) => {
    expect(() => toJson(value, 'the state')).toThrow(InputError)
    expect(() => toJson(value, 'the state')).toThrow(message)
  })

  class Tagged {
    get [Symbol.toStringTag]() {
      return 'Tagged'
    }
  }
  const foreign = (code: string): unknown => runInNewContext(code)
  const lost: readonly [string, unknown][] = [
    ['an ArrayBuffer', new ArrayBuffer(2)],
    ['a SharedArrayBuffer', new SharedArrayBuffer(2)],
    ['a DataView', new DataView(new ArrayBuffer(2))],
    ['a Uint8Array', new Uint8Array(2)],
    ['a Uint8Array', new Uint8Array(0)],
    ['a Float64Array', new Float64Array(1)],
    ['a Blob', new Blob(['x'])],
    ['a File', new File(['x'], 'a')],
    ['a Request', new Request('http://127.0.0.1/')],
    ['a Response', new Response('x')],
    ['a Headers', new Headers()],
    ['a FormData', new FormData()],
    ['a URLSearchParams', new URLSearchParams('a=b')],
    ['a RegExp', /x/],
    ['a WeakMap', new WeakMap()],
    ['a WeakSet', new WeakSet()],
    ['a Promise', Promise.resolve()],
    ['an AbortSignal', AbortSignal.abort()],
    ['a Tagged', new Tagged()],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['an invalid Date', new Date(Number.NaN)],
    ['an Error', new RangeError('x')],
    ['a Map', foreign('new Map([[1, 2]])')],
    ['a Set', foreign('new Set([1])')],
    ['an Error', foreign('new TypeError("x")')],
    ['a Promise', foreign('Promise.resolve(1)')],
    ['a RegExp', foreign('/x/')],
  ]
  test.each(lost)('%s is refused by its name, alone and within a value', (name, value) => {
    expect(() => toJson(value, 'it')).toThrow(InputError)
    expect(() => toJson(value, 'it')).toThrow(`it is ${name}, which`)
    expect(() => toJson({ a: 1, list: [{ value }] }, 'it')).toThrow(`it holds, at .list[0].value, ${name}, which`)
    expect(() => toJson([value], 'it')).toThrow(`it holds, at [0], ${name}, which`)
  })

  test('a function or a symbol in a list, of which JSON would make null, is refused', () => {
    expect(() => toJson({ a: [() => 1] }, 'it')).toThrow('it holds, at .a[0], a function has no JSON form.')
    expect(() => toJson([Symbol('x')], 'it')).toThrow('it holds, at [0], a symbol has no JSON form.')
  })

  test('a Buffer, a boxed value, and a list with undefined are written as JSON.stringify writes them', () => {
    const value = { bytes: Buffer.from('a'), text: new String('b'), number: new Number(1), list: [undefined, null] }
    expect(toJson(value, 'it')).toBe('{"bytes":{"type":"Buffer","data":[97]},"text":"b","number":1,"list":[null,null]}')
  })

  test('nested empty objects and nested objects with a toJSON are accepted', () => {
    const told = { toJSON: () => ({}), held: new Map() }
    const value = { a: {}, b: [{}, null, Object.create(null), new Date(0)], told, text: '{}', of: undefined, do() {} }
    expect(toJson(value, 'it')).toBe('{"a":{},"b":[{},null,{},"1970-01-01T00:00:00.000Z"],"told":{},"text":"{}"}')
  })

  test('an empty object and an object with a toJSON are accepted', () => {
    const says = Object.assign(new Error('x'), { toJSON: () => ({ message: 'x' }) })
    expect([says, {}, Object.create(null)].map((value) => toJson(value, 'it'))).toEqual(['{"message":"x"}', '{}', '{}'])
  })

  test('a value of exactly the limit is accepted and one byte more is not, counted in bytes', () => {
    for (const letter of ['a', 'é', '語', '😀']) {
      const bytes = Buffer.byteLength(letter)
      const most = 3_000 * bytes + 2
      expect(toJson(letter.repeat(3_000), 'it', most)).toHaveLength(3_000 * letter.length + 2)
      expect(() => toJson(letter.repeat(3_000), 'it', most - 1)).toThrow(LimitError)
    }
  })

  test('the error for a value that is too big has both numbers and says what to do', () => {
    const text = 'x'.repeat(policy.messageBytesMax)
    expect(() => toJson(text, 'the reply')).toThrow(
      `the reply has ${policy.messageBytesMax + 2} bytes of JSON; the limit is ${policy.messageBytesMax}. Store large data elsewhere and pass a reference.`,
    )
    expect(() => toJson(text, 'the reply')).toThrow(expect.objectContaining({ code: 'message_too_big' }))
  })
})

describe('isDeeperThan', () => {
  test.each<[unknown, number]>([
    ['text', 0],
    [null, 0],
    [undefined, 0],
    [7, 0],
    [[], 1],
    [{}, 1],
    [[1, null, 'x'], 1],
    [{ a: 'x', b: [] }, 2],
    [['x', { a: [null, { b: 1 }] }, []], 4],
  ])('%j has depth %i', (value, depth) => {
    expect([depth - 1, depth].map((most) => isDeeperThan(value, most))).toEqual([depth > 0, false])
  })

  test('a value that is nested deeper than the stack is measured too', () => {
    let value: unknown = 'core'
    for (let level = 0; level < 200_000; level++) value = [value]
    expect([isDeeperThan(value, 199_999), isDeeperThan(value, 200_000)]).toEqual([true, false])
  })
})

test('this module does not load the code of fetch, which would slow down the start of each process', async () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'Response') as PropertyDescriptor
  const asked = vi.fn<() => unknown>()
  onTestFinished(() => void Object.defineProperty(globalThis, 'Response', own))
  Object.defineProperty(globalThis, 'Response', { configurable: true, get: asked })
  vi.resetModules()
  await import('../../src/core/json.ts')
  expect(asked).not.toHaveBeenCalled()
})

test('a value of callers and authors may be nested 64 deep, and no deeper', () => {
  const nested = (levels: number, open = '[', close = ']') =>
    JSON.parse(open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels)) as unknown
  for (const value of [nested(64), nested(64, '{"a":', '}'), '['.repeat(3_000), { text: '{'.repeat(3_000) }])
    expect(JSON.parse(toJson(value, 'the input'))).toEqual(value)
  for (const value of [
    nested(65),
    nested(65, '{"a":', '}'),
    nested(3_000),
    nested(100_000),
    { flat: 1, list: [1, nested(64)] },
  ])
    expect(() => toJson(value, 'the input')).toThrow(/^the input is nested more than 64 deep: pass a flatter value\.$/)
})
