/** The problems that a schema finds, in one line for people. */
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { fitTo, problemText } from '../../../src/core/check/schema-problems.ts'

const person = z.strictObject({ n: z.number(), list: z.array(z.object({ s: z.string() })).optional() })
const either = z.object({ u: z.union([z.string(), z.object({ n: z.number() })]) })
const wordy = z.string().refine(() => false, `two\nlines, ${'and more of them '.repeat(100)}`)

function told(schema: z.ZodType, value: unknown): string {
  const { error } = schema.safeParse(value)
  return error ? problemText(error) : 'nothing'
}

describe('the problems of a value', () => {
  test.each([
    ['a wrong type', person, { n: 'x' }, 'n: expected number, received string'],
    [
      'a text that is coerced and is no number',
      z.object({ n: z.coerce.number().int() }),
      { n: 'x' },
      'n: expected number, received no number',
    ],
    ['a wrong value as a whole', person, [], 'expected object, received array'],
    [
      'several, also deep inside',
      person,
      { list: [{ s: 'a' }, {}] },
      'n: expected number, received undefined; list.1.s: expected string, received undefined',
    ],
    ['a missing value that may be anything', z.strictObject({ any: z.unknown() }), {}, 'any: is missing'],
    ['an unknown key', person, { n: 1, m: 2 }, 'Unrecognized key: "m"'],
    [
      'no member of a union',
      either,
      { u: { n: '' } },
      'u: expected string, received object, or n: expected number, received string',
    ],
  ])('the problems of a value have a path and a reason: %s', (_, schema, value, expected) => {
    expect(told(schema, value)).toBe(expected)
  })

  test('the problems of a value are limited in number, and the others are counted', () => {
    expect(told(z.array(z.number()), Array.from({ length: 20 }, String)).split('; ')).toEqual([
      ...Array.from({ length: 8 }, (_, index) => `${index}: expected number, received string`),
      'and 12 more',
    ])
  })

  test('the problems of a value are short, each on one line', () => {
    const text = told(wordy, 'x')
    expect(text).toMatch(/^two lines, and more .* …$/)
    expect(text.length).toBeLessThan(210)
  })
})

describe('a problem is more than "Invalid input" (SCHEMA-2)', () => {
  /** The schema with issues as zod 4.0 makes them: without the options of a discriminated union. */
  function ofOldCopy<Schema extends z.ZodType>(schema: Schema): Schema {
    const { _zod: internals } = schema
    const run = internals.run.bind(internals)
    schema._zod.run = (payload, context) => {
      const checked = run(payload, context) as typeof payload
      for (const issue of checked.issues as Record<string, unknown>[]) {
        delete issue.options
        delete issue.discriminator
      }
      return checked
    }
    return schema
  }

  /** A message as a copy of zod without a language makes it: a copy of zod/mini. */
  const withoutWords = <Schema extends z.ZodType>(schema: Schema): Schema => {
    const mute = { error: () => 'Invalid input' }
    return z.clone(schema, { ...schema._zod.def, ...mute })
  }
  const shape = () =>
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('circle'), r: z.number() }),
      z.object({ kind: z.enum(['square', 'cube']), a: z.number() }),
    ])

  test.each<readonly [string, z.ZodType, unknown, string]>([
    [
      'no variant of a discriminated union',
      shape(),
      { kind: 'x' },
      "kind: Invalid discriminator value. Expected 'circle' | 'square' | 'cube'",
    ],
    [
      'no variant, by an old copy of zod',
      z.array(ofOldCopy(shape())),
      [{ kind: 'x' }],
      "0.kind: Invalid discriminator value. Expected 'circle' | 'square' | 'cube'",
    ],
    [
      'no variant, within a union of an old copy',
      z.union([z.number(), ofOldCopy(withoutWords(shape()))]),
      { kind: 'x' },
      'expected number, received object, or kind: no variant has this value',
    ],
    [
      'members of a union of a copy without words',
      z.union([withoutWords(z.number()), withoutWords(z.string()).min(3)]),
      null,
      'expected number, or expected string',
    ],
    ['a check without words', z.number().refine((n) => n > 3), 1, 'a check of the schema refused it'],
    ['a template', z.templateLiteral(['a', z.enum(['b'])]), 'c', 'must match ^a(b)$'],
    [
      'a key of a record',
      z.record(z.string().min(2), z.number()),
      { a: 1 },
      'a: Invalid key in record: Too small: expected string to have >=2 characters',
    ],
    ['an empty union', z.union([] as unknown as [z.ZodType]), 1, 'does not fit the schema'],
  ])('%s', (_, schema, value, expected) => {
    const fit = fitTo(schema, value)
    expect(fit.ok ? 'it fits' : fit.reasons.join('; ')).toBe(expected)
  })
})

const refuse = async () => {
  throw new Error('the table cannot be reached')
}
const rejecting: readonly (readonly [string, z.ZodType])[] = [
  ['a refinement', z.string().refine(refuse)],
  ['a wide refinement', z.string().superRefine(refuse)],
  ['a transform', z.string().transform(refuse)],
  ['a step before', z.preprocess(refuse, z.string())],
  ['a member of a union', z.union([z.number(), z.string().refine(refuse)])],
]

describe('an asynchronous schema', () => {
  test.each(rejecting)(
    'an asynchronous schema refuses the value, and its later rejection does not end the process (SCHEMA-1): %s',
    async (_, schema) => {
      const unhandled: unknown[] = []
      const note = (reason: unknown) => unhandled.push(reason)
      process.on('unhandledRejection', note)
      onTestFinished(() => void process.off('unhandledRejection', note))
      const reasons = ['the schema could not check it: it is asynchronous, but schemas must answer at once']
      expect(fitTo(schema, 'x')).toEqual({ ok: false, reasons })
      expect(fitTo(z.object({ a: schema, b: schema }), { a: 'x', b: 'y' })).toEqual({ ok: false, reasons })
      await setImmediate()
      expect(unhandled).toEqual([])
    },
  )
})
