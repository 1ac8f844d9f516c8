/** What the schema of an agent's input makes of an input: everybody gets that, and nobody the input as it was sent. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'

interface Seen {
  readonly tool: unknown
  readonly folder: unknown
  readonly instructions: unknown
  readonly prompt: string
}

/** The input as a tool, the folder, the instructions and the model get it. */
async function seenOf(input: z.ZodType, sent: unknown): Promise<{ seen: Seen; result: object }> {
  const seen: { -readonly [Name in keyof Seen]: Seen[Name] } = { tool: 0, folder: 0, instructions: 0, prompt: '' }
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effect: 'pure',
    run: (_arguments, context) => {
      seen.tool = context.input
      return 'seen'
    },
  })
  const model = recordedModel('test/m', [call('look'), say('done')])
  const agent = defineWorker({
    model,
    input,
    tools: [look],
    folder: (value) => {
      seen.folder = value
      return tmpdir()
    },
    instructions: (_self, value) => {
      seen.instructions = value
      return 'x'
    },
  })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const result = await troupe.run('agent', sent)
  const [first] = model.requests[0]?.messages ?? []
  if (first?.role === 'user' && first.content[0]?.type === 'text') seen.prompt = first.content[0].text
  return { seen, result }
}

test.each<[string, z.ZodType, unknown, unknown]>([
  ['a default', z.object({ depth: z.number().default(2) }), {}, { depth: 2 }],
  ['a transform', z.object({ name: z.string().transform((name) => name.length) }), { name: 'ada' }, { name: 3 }],
  ['a coercion', z.object({ count: z.coerce.number() }), { count: '7' }, { count: 7 }],
  ['a text of another form', z.string().trim().toLowerCase(), '  Ada ', 'ada'],
  ['a text that becomes an object', z.string().transform((name) => ({ name })), 'ada', { name: 'ada' }],
  ['a field that nobody named', z.object({ name: z.string() }), { name: 'ada', extra: 1 }, { name: 'ada' }],
  ['a moment', z.object({ at: z.coerce.date() }), { at: '2026-01-01' }, { at: '2026-01-01T00:00:00.000Z' }],
  [
    'a default for no input',
    z
      .object({ depth: z.number() })
      .nullable()
      .transform((value) => value ?? { depth: 1 }),
    null,
    { depth: 1 },
  ],
])('%s of the schema reaches tools, folder, instructions and model', async (_what, schema, sent, expected) => {
  const { seen } = await seenOf(schema, sent)
  expect(seen).toMatchObject({ tool: expected, folder: expected, instructions: expected })
  expect(seen.prompt).toBe(typeof expected === 'string' ? expected : JSON.stringify(expected))
})

test.each<[string, z.ZodType, RegExp]>([
  ['a Map', z.string().transform(() => new Map()), /the input of agent, as its schema returns it, is a Map/],
  ['a bigint', z.string().transform(() => 1n), /as its schema returns it, cannot be written as JSON: a bigint/],
  ['a text of 2 MB', z.string().transform(() => 'x'.repeat(2_000_000)), /as its schema returns it, has 2000002 bytes/],
])('an input of which the schema makes %s fails the run', async (_what, schema, message) => {
  const { result } = await seenOf(schema, 'go')
  expect(result).toMatchObject({ failure: { code: 'input_invalid', message: expect.stringMatching(message) } })
})
