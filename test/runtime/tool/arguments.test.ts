/** Arguments as models write them, and the errors that models see when the arguments do not fit. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import type { Json } from '../../../src/core/history/chat/chat-message.ts'
import { policy } from '../../../src/core/policy.ts'
import { checkArguments } from '../../../src/runtime/tool/arguments.ts'
import { invalidArgumentsText, unknownToolText } from '../../../src/runtime/tool/messages.ts'

function check(schema: z.ZodType | undefined, input: Json, inputText?: string) {
  const tool = defineTool({
    name: 'a',
    description: 'For tests.',
    effect: 'pure',
    ...(schema ? { input: schema } : {}),
    run: () => null,
  })
  return checkArguments(tool, { input, ...(inputText === undefined ? {} : { inputText }) })
}
const accepted = (value: unknown) => ({ ok: true, value })
const refused = (...reasons: string[]) => ({ ok: false, reasons })

const person = z.object({ name: z.string(), age: z.int().default(1) })

test('the tool gets the value that the schema returned, without unknown properties (ARGUMENTS-3)', () => {
  expect(check(person, { name: 'Ada', more: 1 })).toEqual(accepted({ name: 'Ada', age: 1 }))
})

test.each([
  ['no schema', undefined],
  ['a schema of any JSON', z.json()],
  ['a loose schema', z.looseObject({})],
])('what a tool with %s does to its input does not change the recorded call (ARGUMENTS-3)', (_, schema) => {
  const input = { list: [1] }
  const fit = check(schema, input) as { readonly value: { readonly list: number[] } }
  fit.value.list.push(2)
  expect(input).toEqual({ list: [1] })
})

test('the model reads which property of its arguments is wrong, and why', () => {
  expect(check(person, { age: 'x' })).toEqual(
    refused('name: expected string, received undefined', 'age: expected number, received string'),
  )
  expect(check(z.object({ list: z.array(z.object({ n: z.number() })) }), { list: [{ n: 1 }, { n: 'x' }] })).toEqual(
    refused('list.1.n: expected number, received string'),
  )
  expect(check(person, [])).toEqual(refused('expected object, received array'))
  expect(check(z.strictObject({}), { a: 1 })).toEqual(refused('Unrecognized key: "a"'))
  expect(check(z.object({ u: z.union([z.string(), z.object({ n: z.number() })]) }), { u: { n: '' } })).toEqual(
    refused('u: expected string, received object, or n: expected number, received string'),
  )
})

test('the error about wrong arguments is short, however many problems there are', () => {
  const result = check(
    z.array(z.number()),
    Array.from({ length: 100 }, () => 'x'),
  )
  expect(result).toMatchObject({ ok: false })
  expect((result as { reasons: readonly string[] }).reasons).toHaveLength(9)
  expect((result as { reasons: readonly string[] }).reasons.at(-1)).toBe('and 92 more')
  const long = check(z.strictObject({}), { ['k'.repeat(100_000)]: 1 }) as { reasons: readonly string[] }
  expect(long.reasons[0]?.length).toBeLessThan(400)
})

test('a value that is not an object is accepted under `arguments`, and bare', () => {
  expect(check(z.string(), { arguments: 'hello' })).toEqual(accepted('hello'))
  expect(check(z.string(), 'hello')).toEqual(accepted('hello'))
  expect(check(z.array(z.string()), { arguments: ['a', 'b'] })).toEqual(accepted(['a', 'b']))
  expect(check(z.array(z.string()), ['a', 'b'])).toEqual(accepted(['a', 'b']))
  expect(check(z.json(), { arguments: { a: 1 } })).toEqual(accepted({ a: 1 }))
  expect(check(z.json(), { a: 1 })).toEqual(accepted({ a: 1 }))
  expect(check(z.string().optional(), {})).toEqual(accepted(undefined))
  // A value of its own that only looks wrapped.
  const look = z.union([z.string(), z.object({ arguments: z.number() })])
  expect(check(look, { arguments: 3 })).toEqual(accepted({ arguments: 3 }))
  expect(check(z.string(), { arguments: 3 })).toEqual(refused('expected string, received number'))
})

test('an object with a property called `arguments` is not unwrapped', () => {
  expect(check(z.object({ arguments: z.string() }), { arguments: 'x' })).toEqual(accepted({ arguments: 'x' }))
  expect(check(undefined, { arguments: 'x' })).toEqual(accepted({ arguments: 'x' }))
  expect(check(z.looseObject({}), { arguments: { a: 1 } })).toEqual(accepted({ arguments: { a: 1 } }))
})

test('text that is not JSON is accepted by tools that take text [3.16]', () => {
  expect(check(z.string(), null, 'hello world')).toEqual(accepted('hello world'))
  expect(check(z.string().max(3), null, 'hello')).toEqual(refused('Too big: expected string to have <=3 characters'))
  expect(check(person, null, '{"name": "Ad')).toEqual(
    refused(expect.stringMatching(/^arguments are not JSON: .+/) as unknown as string),
  )
  expect(check(z.json(), null, 'hello')).toEqual(
    refused(expect.stringMatching(/^arguments are not JSON: .+/) as unknown as string),
  )
  expect(check(undefined, null, '')).toEqual(accepted({}))
})

test('the beginning of an argument that was cut off is not accepted as the whole argument', () => {
  expect(check(z.string(), null, ' {"arguments": "delete /tmp')).toMatchObject({ ok: false })
})

test('arguments that are nested too deeply are refused before any schema sees them (ARGUMENTS-1)', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as Json
  expect(check(undefined, nested(policy.jsonDepthMax))).toMatchObject({ ok: true })
  for (const levels of [policy.jsonDepthMax + 1, 1_000, 100_000]) {
    for (const schema of [undefined, z.json(), z.string()]) {
      expect(check(schema, nested(levels))).toEqual(refused('arguments are nested deeper than 64 levels'))
    }
  }
})

test('arguments of more than 1 MiB are refused, as JSON and as text', () => {
  // 2 quotation marks, and 2 bytes for each letter.
  const most = 'é'.repeat(policy.messageBytesMax / 2 - 1)
  expect(check(z.string(), most)).toMatchObject({ ok: true })
  expect(check(z.string(), `${most}x`)).toEqual(refused('arguments have 1048577 bytes; the limit is 1048576'))
  expect(check(z.string(), null, 'é'.repeat(policy.messageBytesMax / 2 + 1))).toEqual(
    refused('arguments have 1048578 bytes; the limit is 1048576'),
  )
})

test('keys that name prototypes stay plain data', () => {
  const value = JSON.parse('{"name":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as Json
  const schemas = [undefined, person, z.looseObject({}), z.record(z.string(), z.unknown()), z.json(), z.unknown()]
  for (const schema of schemas) {
    const result = check(schema, value) as { ok: boolean; value: { polluted?: unknown } }
    expect(result.ok).toBe(true)
    expect(result.value.polluted).toBeUndefined()
    expect(Object.getPrototypeOf(result.value)).toBe(Object.prototype)
  }
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('a schema that throws or is asynchronous refuses the arguments', () => {
  const throwing = z.string().refine(() => {
    throw new Error('broken check')
  })
  expect(check(throwing, 'x')).toEqual(refused('the schema could not check it: broken check'))
  expect(
    check(
      z.string().refine(async () => true),
      'x',
    ),
  ).toEqual(refused('the schema could not check it: it is asynchronous, but schemas must answer at once'))
})

test('arguments may be taken out of a text by a pattern, and a text that does not fit is refused [3.17]', () => {
  const copy = /^\/copy (\S+) (\S+)$/
  const schema = z
    .string()
    .regex(copy, 'is not "/copy <from> <to>"')
    .transform((text) => {
      const [, from, to] = copy.exec(text) ?? []
      return { from, to }
    })
  expect(check(schema, { arguments: '/copy a b' })).toEqual(accepted({ from: 'a', to: 'b' }))
  expect(check(schema, {}, '/copy a b')).toEqual(accepted({ from: 'a', to: 'b' }))
  expect(check(schema, { arguments: '/move a b' })).toEqual(refused('is not "/copy <from> <to>"'))
})

test('any JSON is accepted or refused, and nothing throws (ARGUMENTS-1) [3.16]', () => {
  const schemas = [undefined, person, z.string(), z.array(z.string()), z.json(), z.strictObject({ a: person })]
  fc.assert(
    fc.property(
      fc.constantFrom(...schemas),
      fc.jsonValue(),
      fc.option(fc.string(), { nil: undefined }),
      (schema, input, text) => {
        const result = check(schema, input as Json, text)
        expect(result.ok || result.reasons.length > 0).toBe(true)
      },
    ),
  )
})

test('the errors for the model have a fixed form', () => {
  expect(unknownToolText('x', ['a', 'b'])).toBe("Error: unknown tool 'x'. Available: a, b")
  expect(unknownToolText('x', [])).toBe("Error: unknown tool 'x'. Available: none")
  expect(invalidArgumentsText('x', ['a: wrong', 'b: wrong'])).toBe(
    "Error: invalid arguments for 'x': a: wrong; b: wrong",
  )
  expect(unknownToolText('x'.repeat(100_000), []).length).toBeLessThan(500)
})
