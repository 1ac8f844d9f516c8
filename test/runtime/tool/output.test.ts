/** Outputs of tools as they are recorded. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { policy } from '../../../src/core/policy.ts'
import { writeJson } from '../../../src/runtime/tool/json-writer.ts'
import { errorOutput, toOutput } from '../../../src/runtime/tool/output.ts'

const noteOf = /\n\[Output cut: it has (\d+) bytes; only the first (\d+) are shown\.\]$/

test('text stays text, undefined becomes "(no output)", other JSON stays JSON', () => {
  expect(toOutput('hello')).toEqual({ type: 'text', value: 'hello' })
  expect(toOutput(undefined)).toEqual({ type: 'text', value: '(no output)' })
  for (const value of [null, 0, false, [], { a: [1, { b: null }] }]) {
    expect(toOutput(value)).toEqual({ type: 'json', value })
  }
  expect(toOutput({ at: new Date(0), left: undefined })).toEqual({
    type: 'json',
    value: { at: '1970-01-01T00:00:00.000Z' },
  })
})

test('a later change of the returned object does not change the output (OUTPUT-1)', () => {
  const value = { list: [1] }
  const output = toOutput(value)
  value.list.push(2)
  expect(output).toEqual({ type: 'json', value: { list: [1] } })
})

test('a value without a JSON form gives an error that says that the tool ran', () => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  let deep: unknown = null
  for (let n = 0; n < 100_000; n += 1) deep = [deep]
  const hostile = {
    toJSON() {
      throw new Error('not me')
    },
  }
  const cases: [unknown, RegExp][] = [
    [1n, /: a bigint has no JSON form/],
    [circle, /contains itself/],
    [() => 1, /a function has no JSON form/],
    [Symbol('s'), /a symbol has no JSON form/],
    [deep, /it is nested more than 500 deep/],
    [hostile, /not me/],
  ]
  for (const [value, reason] of cases) {
    const output = toOutput(value)
    expect(output.type).toBe('error-text')
    expect(output.value).toMatch(/^Error: the tool ran, but its output cannot be written as JSON: /)
    expect(output.value).toMatch(reason)
  }
})

test.each([
  ['a Map', new Map([['a', 1]])],
  ['a Set', new Set([1])],
  ['an Error', new Error('not in stock')],
  ['an Error', Object.assign(new Error('not in stock'), { code: 'E_STOCK' })],
  ['a Response', new Response('{"a":1}')],
  ['a ReadableStream', new ReadableStream()],
  ['a URLSearchParams', new URLSearchParams('a=1')],
  [
    'an AsyncGenerator',
    (async function* () {
      yield await Promise.resolve(1)
    })(),
  ],
])('%s, which JSON would write as an empty object, gives an error', (name, value) => {
  expect(toOutput(value)).toEqual({
    type: 'error-text',
    value: expect.stringContaining(
      `Error: the tool ran, but its output is ${name}, which has no JSON form: `,
    ) as string,
  })
})

test.each([
  ['a Buffer', Buffer.alloc(3)],
  ['a typed array', new Float64Array(4)],
  ['an ArrayBuffer', new ArrayBuffer(5)],
])('the bytes of %s are never written as a list of numbers', (_what, value) => {
  const text = `the tool ran, but its output is binary (${value.byteLength} bytes): give text, like buffer.toString('utf8'), or a list of numbers.`
  expect(toOutput(value)).toEqual({ type: 'error-text', value: `Error: ${text}` })
})

test('half surrogate pairs are replaced in text, in values and in names', () => {
  expect(toOutput('a\ud800b')).toEqual({ type: 'text', value: 'a\ufffdb' })
  const output = toOutput({ 'k\udc00': ['\ud83d', '\\ud800', '\u{1f600}'] })
  expect(output).toEqual({ type: 'json', value: { 'k\ufffd': ['\ufffd', '\\ud800', '\u{1f600}'] } })
})

test('keys that name prototypes stay plain data', () => {
  const output = toOutput(JSON.parse('{"__proto__":{"polluted":1}}')) as { value: { polluted?: unknown } }
  expect(output.value.polluted).toBeUndefined()
  expect(JSON.stringify(output.value)).toBe('{"__proto__":{"polluted":1}}')
})

test('JSON that is nested too deeply for a record becomes text', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown
  expect(toOutput(nested(policy.jsonDepthMax)).type).toBe('json')
  expect(toOutput(nested(policy.jsonDepthMax + 1)).type).toBe('text')
})

test('output beyond the limit is cut, and the note says how many bytes it had and how many are shown (OUTPUT-2)', () => {
  expect(toOutput('x'.repeat(10), 10).value).toBe('x'.repeat(10))
  expect(toOutput('x'.repeat(11), 10).value).toBe(
    `${'x'.repeat(10)}\n[Output cut: it has 11 bytes; only the first 10 are shown.]`,
  )
  expect(toOutput({ a: 'xxxxxxxxxx' }, 10)).toEqual({
    type: 'text',
    value: '{"a":"xxxx\n[Output cut: it has 18 bytes; only the first 10 are shown.]',
  })
  expect(toOutput('\u{1f600}'.repeat(3), 10).value).toBe(
    '\u{1f600}\u{1f600}\n[Output cut: it has 12 bytes; only the first 8 are shown.]',
  )
  expect(errorOutput('x'.repeat(20), 10).value).toMatch(noteOf)
  const all = toOutput('y'.repeat(policy.toolOutputBytesMax + 1)).value as string
  expect(noteOf.exec(all)?.slice(1)).toEqual(['200001', '200000'])
})

test('a cut output is a well-formed prefix of the stated size, and one more character would not fit', () => {
  const text = fc.string({
    unit: fc.oneof(fc.constantFrom('\ud800', '\udc00', 'é', '€', '\u{1f600}'), fc.string({ unit: 'binary' })),
  })
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 40 }), (value, bytesMax) => {
      const whole = value.toWellFormed()
      const output = toOutput(value, bytesMax)
      expect(output.type).toBe('text')
      const preview = output.value as string
      expect(preview.isWellFormed()).toBe(true)
      const fits = Buffer.byteLength(whole) <= bytesMax
      const kept = fits ? preview : preview.replace(noteOf, '')
      const sizes = fits ? undefined : [Buffer.byteLength(whole), Buffer.byteLength(kept)]
      expect(fits ? undefined : noteOf.exec(preview)?.slice(1).map(Number)).toEqual(sizes)
      expect(fits ? whole === kept : whole.startsWith(kept)).toBe(true)
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(bytesMax)
      const next = String.fromCodePoint(whole.codePointAt(kept.length) ?? 0)
      expect(fits || Buffer.byteLength(kept + next) > bytesMax).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

test('any JSON value is recorded unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as unknown
      const output = toOutput(value, 1_000_000)
      expect(output).toEqual({ type: typeof value === 'string' ? 'text' : 'json', value: plain })
    }),
  )
})

test('a cut does not copy the ten million characters that it cuts off (OUTPUT-3)', () => {
  const huge = 'é'.repeat(10_000_000)
  // Flat, as a tool that read a file gives it.
  Buffer.byteLength(huge)
  const before = process.memoryUsage()
  const outputs = Array.from({ length: 50 }, () => toOutput(huge, 1_000))
  const after = process.memoryUsage()
  expect(outputs.every(({ value }) => (value as string).startsWith('é'))).toBe(true)
  const grown = after.heapUsed + after.external - before.heapUsed - before.external
  expect(grown).toBeLessThan(40_000_000)
})

test('JSON that is not cut is what JSON.stringify writes', () => {
  const part = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>(
      undefined,
      Number.NaN,
      -0,
      Number.POSITIVE_INFINITY,
      new Date(0),
      Object(1),
      Object('a'),
      () => 1,
      Symbol('s'),
    ),
    fc.string({ unit: 'binary' }),
  )
  const value = fc.oneof(fc.dictionary(fc.string(), fc.oneof(part, fc.array(part))), fc.array(part))
  fc.assert(
    fc.property(value, (given) => {
      expect(writeJson(given, 1_000_000)).toMatchObject({ text: JSON.stringify(given), isWhole: true })
    }),
  )
})

test('bigints and functions to which a program gives a JSON form have that form (JSON-WRITER-1)', () => {
  const named = Object.assign(() => 1, { toJSON: () => ({ name: 'f' }) })
  const prototype = BigInt.prototype as { toJSON?: (this: bigint) => string }
  prototype.toJSON = function () {
    return this.toString()
  }
  try {
    for (const value of [1n, [2n], { id: 3n, boxed: Object(4n) as unknown }, named, { list: [named], named }]) {
      expect(writeJson(value, 1_000_000)).toMatchObject({ text: JSON.stringify(value), isWhole: true })
    }
  } finally {
    delete prototype.toJSON
  }
})

test.each<[string, unknown, string]>([
  ['a Map', { rows: new Map([['a', 1]]) }, 'holds, at .rows, a Map, which has no JSON form: pass an object'],
  ['a Set in a list', [{ tags: new Set([1]) }], 'holds, at [0].tags, a Set, which has no JSON form'],
  [
    'a Promise',
    { a: { b: [Promise.resolve(1)] } },
    'holds, at .a.b[0], a Promise, which has no JSON form: await it first',
  ],
  ['an Error', { error: new Error('no') }, 'holds, at .error, an Error, which has no JSON form'],
  ['a stream', { body: new ReadableStream() }, 'holds, at .body, a ReadableStream'],
  ['a Buffer', { file: Buffer.alloc(3) }, 'holds, at .file, 3 bytes of binary data: give text'],
  ['a typed array', { list: [new Float64Array(2)] }, 'holds, at .list[0], 16 bytes of binary data: give text'],
  [
    'a Map that toJSON returns',
    { rows: { toJSON: () => new Map() } },
    'holds, at .rows, a Map, which has no JSON form',
  ],
  ['a bigint', { id: 1n }, 'holds, at .id, a bigint, which has no JSON form: pass a number'],
])('%s within an output gives an error that names its place', (_what, value, why) => {
  expect(toOutput(value)).toEqual({
    type: 'error-text',
    value: expect.stringContaining(`Error: the tool ran, but its output ${why}`) as string,
  })
})

test('no more of a large output is read than can be recorded', () => {
  let reads = 0
  const endless = new Proxy<unknown[]>([], {
    get(_target, key) {
      if (key === 'length') return 1_000_000_000
      if (key === 'toJSON') return undefined
      reads++
      return { text: 'x'.repeat(100), list: [1, 2, 3] }
    },
  })
  const output = toOutput({ rows: endless })
  expect(output).toMatchObject({
    type: 'text',
    value: expect.stringMatching(/it has more than \d+ bytes; only the first 200000/),
  })
  expect(reads).toBeLessThan(20_000)
})

test('a value that holds content beside other fields is JSON, of which nothing is lost', () => {
  const content = [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }] as const
  expect(toOutput({ content })).toMatchObject({ type: 'content' })
  expect(toOutput({ content, cents: 5 })).toEqual({ type: 'json', value: { content, cents: 5 } })
})

test('media and texts of a result have bounds together, and a note stands for each medium that is left out (OUTPUT-2)', () => {
  const image = (bytes: number) => ({
    type: 'image',
    mediaType: 'image/png',
    data: Buffer.alloc(bytes).toString('base64'),
  })
  const shown = (content: readonly object[], bytesMax?: number) => {
    const output = toOutput({ content }, bytesMax)
    return (output.value as { type: string; text?: string }[]).map(({ type, text }) => text ?? type)
  }
  const many = Array.from({ length: policy.imagesMax + 1 }, () => image(3))
  expect(shown(many)).toEqual([
    ...many.slice(1).map(() => 'image'),
    expect.stringMatching(/left out: .* at most 10 images/),
  ])
  const half = policy.toolMediaBytesMax / 2
  expect(shown([image(half), image(half + 1), image(half)])).toEqual([
    'image',
    expect.stringMatching(/left out: .* at most 600000 bytes of media/),
    'image',
  ])
  const texts = ['12345', '67890'].map((text) => ({ type: 'text', text }))
  expect(shown([...texts, image(3)], 7)).toEqual([
    '12345',
    expect.stringMatching(/^67\n\[Output cut: it has 5 bytes/),
    'image',
  ])
})
