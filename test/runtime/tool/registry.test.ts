/** Tools as a model sees them. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { ConfigError } from '../../../src/core/errors.ts'
import { answerProblem } from '../../../src/core/worker/ask/answer-problem.ts'
import { toJsonSchema } from '../../../src/runtime/tool/input-form.ts'
import { ToolRegistry } from '../../../src/runtime/tool/registry.ts'

function toolOf(name: string, input?: z.ZodType) {
  return defineTool({ name, description: `Is ${name}.`, effect: 'pure', ...(input ? { input } : {}), run: () => null })
}

function schemaOf(input?: z.ZodType): unknown {
  return new ToolRegistry([toolOf('a', input)]).specs()[0]?.inputSchema
}

test('tools are found by name and listed in the order of the definition [3.15]', () => {
  const [b, a] = [toolOf('b'), toolOf('a')]
  const registry = new ToolRegistry([b, a])
  expect(registry.get('a')).toBe(a)
  expect(registry.get('c')).toBeUndefined()
  expect(registry.get('constructor')).toBeUndefined()
  expect(registry.list()).toEqual([b, a])
  expect(registry.specs()).toBe(registry.specs())
  expect(registry.specs().map(({ name, description }) => [name, description])).toEqual([
    ['b', 'Is b.'],
    ['a', 'Is a.'],
  ])
})

test('schemas of objects forbid unknown properties at every depth, unless the author made them loose (INPUT-FORM-2)', () => {
  const inner = z.object({ id: z.string() })
  expect(
    schemaOf(z.object({ inner, list: z.array(inner), loose: z.looseObject({}), map: z.record(z.string(), inner) })),
  ).toEqual({
    type: 'object',
    properties: {
      inner: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
      list: {
        type: 'array',
        items: {
          type: 'object',
          properties: { id: { type: 'string' } },
          required: ['id'],
          additionalProperties: false,
        },
      },
      loose: { type: 'object', properties: {}, additionalProperties: {} },
      map: {
        type: 'object',
        additionalProperties: {
          type: 'object',
          properties: { id: { type: 'string' } },
          required: ['id'],
          additionalProperties: false,
        },
      },
    },
    required: ['inner', 'list', 'loose', 'map'],
    additionalProperties: false,
  })
})

test('the model may leave out a field with a default, because the schema describes the input', () => {
  expect(schemaOf(z.object({ n: z.number().default(1), s: z.string().transform((s) => s.length) }))).toMatchObject({
    properties: { n: { type: 'number', default: 1 }, s: { type: 'string' } },
    required: ['s'],
  })
})

test('a schema that is not an object is put under `arguments`', () => {
  const wrapped = (inner: object) => ({
    type: 'object',
    properties: { arguments: inner },
    required: ['arguments'],
    additionalProperties: false,
  })
  expect(schemaOf(z.string())).toEqual(wrapped({ type: 'string' }))
  expect(schemaOf(z.array(z.string()))).toEqual(wrapped({ type: 'array', items: { type: 'string' } }))
  expect(schemaOf(z.union([z.string(), z.object({ a: z.string() })]))).toEqual(
    wrapped({
      anyOf: [
        { type: 'string' },
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
      ],
    }),
  )
})

test('references within a wrapped schema still resolve', () => {
  const tree = z.object({
    name: z.string(),
    get kids() {
      return z.array(tree)
    },
  })
  const schema = schemaOf(z.array(tree)) as { properties: object; $defs: Record<string, object> }
  const [[name, definition]] = Object.entries(schema.$defs) as [[string, object]]
  expect(schema.properties).toEqual({ arguments: { type: 'array', items: { $ref: `#/$defs/${name}` } } })
  expect(definition).toMatchObject({ properties: { kids: { items: { $ref: `#/$defs/${name}` } } } })
})

/** A schema as zod 4.0 and 4.1 make it: no registry but its own knows its description, and it does not convert itself. */
function ofOldCopy<Schema extends z.ZodType>(schema: Schema, description: string): Schema {
  return Object.defineProperties(schema, {
    meta: { value: () => ({ description, id: 'old' }) },
    toJSONSchema: { value: undefined },
  })
}

test('descriptions are read from schemas of another copy of zod (INPUT-FORM-3)', () => {
  const city = ofOldCopy(z.string(), 'Which city.')
  const place = ofOldCopy(z.object({ city, list: z.array(ofOldCopy(z.number(), 'A number.')) }), 'Where.')
  expect(schemaOf(place)).toMatchObject({
    description: 'Where.',
    properties: {
      city: { type: 'string', description: 'Which city.' },
      list: { items: { type: 'number', description: 'A number.' } },
    },
  })
  expect(schemaOf(city)).toMatchObject({ properties: { arguments: { type: 'string', description: 'Which city.' } } })
  expect(JSON.stringify(schemaOf(place))).not.toContain('old')
})

test('a schema of a newer copy of zod is converted by that copy (INPUT-FORM-3)', () => {
  const converted = { type: 'object', properties: { city: { type: 'string', description: 'Of that copy.' } } }
  const schema = Object.defineProperty(z.object({}), 'toJSONSchema', { value: () => converted })
  expect(schemaOf(schema)).toEqual(converted)
})

test('a wrapped schema that the model may leave out is not required', () => {
  expect(schemaOf(z.string().default('a'))).not.toHaveProperty('required')
  expect(schemaOf(z.string().optional())).not.toHaveProperty('required')
})

test('a tool without a schema takes any properties from a model', () => {
  expect(schemaOf()).toEqual({ type: 'object', properties: {}, additionalProperties: true })
})

test('a pattern with flags is checked with them in an ask, and left out for a model, whose provider may not read it', () => {
  const schema = toJsonSchema(z.string().regex(/^yes$/i), 'ask')
  expect([answerProblem({ schema }, 'YES'), answerProblem({ schema }, 'no')]).toEqual([null, expect.any(String)])
  const letters = toJsonSchema(z.string().regex(/^\p{L}+$/u), 'ask')
  expect(answerProblem({ schema: letters }, 'é')).toBeNull()
  expect(toJsonSchema(z.string().regex(/^yes$/i))).toEqual({ type: 'string' })
  expect(toJsonSchema(z.string().regex(/^yes$/g))).toEqual({ type: 'string', pattern: '^yes$' })
})

test('an answer is checked against all patterns of its text, and against a pattern with the flag `u`', () => {
  for (const [form, right, wrong] of [
    [z.string().startsWith('a').endsWith('z'), 'a to z', 'a to y'],
    [z.string().regex(/^a/).regex(/Z$/i), 'az', 'zz'],
    [z.string().regex(/^\d{4}\.\d{2}$/u), '2026.11', '2026x11'],
  ] as const) {
    const schema = toJsonSchema(form, 'ask')
    expect([answerProblem({ schema }, right), answerProblem({ schema }, wrong)]).toEqual([null, expect.any(String)])
  }
  // One character of two units.
  expect(answerProblem({ schema: toJsonSchema(z.string().regex(/^.$/u), 'ask') }, '🙂')).toBeNull()
  const { allOf } = toJsonSchema(z.string().regex(/^a/).regex(/Z$/i).regex(/b/))
  expect(allOf).toEqual([{ pattern: '^a' }, { pattern: 'b' }])
})

test('a long pattern beside a format is left out; short patterns, and patterns without a format, stay', () => {
  const long = `^${'a'.repeat(200)}$`
  const { properties } = schemaOf(
    z.object({ mail: z.email(), own: z.string().regex(new RegExp(long)), brief: z.email({ pattern: /^.@.$/ }) }),
  ) as { properties: object }
  expect(properties).toEqual({
    mail: { type: 'string', format: 'email' },
    own: { type: 'string', pattern: long },
    brief: { type: 'string', format: 'email', pattern: '^.@.$' },
  })
})

test('a tool whose schema has no JSON Schema is refused by name', () => {
  for (const input of [z.object({ when: z.date() }), z.bigint(), z.map(z.string(), z.string())]) {
    expect(() => new ToolRegistry([toolOf('clock', input)])).toThrow(ConfigError)
    expect(() => new ToolRegistry([toolOf('clock', input)])).toThrow(/^tool "clock": .+ cannot be represented/)
  }
})

test('two tools with the same name are refused', () => {
  expect(() => new ToolRegistry([toolOf('a'), toolOf('a')])).toThrow('two tools have the name "a"')
})
