/** Schemas of input and state: what does not fit, or cannot be checked, fails the run with a typed error, once. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker, type Self } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

describe('schemas', () => {
  test('an input that does not fit fails its run without a call of receive, and the next input is received', async () => {
    const seen: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        strict: defineWorker({
          input: z.object({ text: z.string(), times: z.number().default(1) }),
          receive(message, self) {
            seen.push(message.value)
            self.reply('fine')
          },
        }),
      },
    })
    const session = await troupe.create('strict', { text: 7 }, { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({
      status: 'failed',
      failure: {
        code: 'input_invalid',
        attempt: 1,
        message: 'the input of strict does not fit its schema: text: expected string, received number',
      },
    })
    await session.root.send({ text: 'seven' })
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([{ text: 'seven', times: 1 }])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('the schema of inputs does not apply to results and timers', async () => {
    const strict = defineWorker<unknown[]>({
      input: z.object({ n: z.number() }),
      initial: [],
      receive(message, self) {
        if (message.kind === 'input') {
          self.spawn('echo', 'a result')
          self.after(0, 'a timer')
        } else self.setState([...self.state, message.value])
        if (self.state.length === 2) self.reply(self.state)
      },
    })
    const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
    await using troupe = await TestTroupe.start({ workers: { strict, echo } })
    expect(await troupe.run('strict', { n: 1 })).toMatchObject({
      value: expect.arrayContaining(['a result', 'a timer']),
    })
  })

  test('an input that does not fit an agent fails its run in the same words, without a call of its model', async () => {
    const model = recordedModel('test/one', [])
    await using troupe = await TestTroupe.start({
      workers: { strict: defineWorker({ instructions: 'Count.', model, input: z.object({ n: z.number() }) }) },
    })
    expect(await troupe.run('strict', { n: 'x' })).toMatchObject({
      status: 'failed',
      failure: {
        code: 'input_invalid',
        message: 'the input of strict does not fit its schema: n: expected number, received string',
      },
    })
    expect(model.requests).toHaveLength(0)
  })

  test('a state that does not fit fails the run at the call', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        strict: defineWorker<{ n: number }>({
          state: z.object({ n: z.number() }),
          initial: { n: 0 },
          receive(message, self) {
            self.setState({ n: message.value as number })
            self.reply(self.state)
          },
        }),
      },
    })
    expect(await troupe.run('strict', 1)).toMatchObject({ value: { n: 1 } })
    expect(await troupe.run('strict', 'one')).toMatchObject({
      status: 'failed',
      failure: {
        code: 'run_failed',
        message: 'the new state of strict does not fit its schema: n: expected number, received string',
      },
    })
  })

  test('a stored state that no longer fits fails each run with an error that names worker and kind', async () => {
    await using troupe = await TestTroupe.connect()
    const setter = (state: z.ZodType) =>
      defineWorker<unknown>({
        state,
        initial: null,
        receive(message, self) {
          const before = self.state
          self.setState(message.value)
          self.reply(before === null ? 'kept' : 'replaced')
        },
      })
    const first = await troupe.startNode({ setter: setter(z.unknown()) })
    const session = await troupe.create('setter', 'text', { keepOpen: true })
    expect(await session.result()).toMatchObject({ value: 'kept' })
    await first.stop()
    await troupe.startNode({ setter: setter(z.number().nullable()) })
    await session.root.send(1)
    expect(await session.result({ run: 2 })).toMatchObject({
      status: 'failed',
      failure: {
        code: 'input_invalid',
        message: `the state of worker ${session.rootId} does not fit setter: expected number, received string`,
      },
    })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a large state survives between runs', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        hoarder: defineWorker<string>({
          initial: '',
          receive(message, self) {
            self.setState(self.state + (message.value as string))
            self.reply(self.state.length)
          },
        }),
      },
    })
    const session = await troupe.create('hoarder', 'x'.repeat(300_000), { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ value: 300_000 })
    await session.root.send('y'.repeat(300_000))
    expect(await session.result({ run: 2 })).toMatchObject({ value: 600_000 })
  })
})

/** A schema that null fits, the first state of each worker; for any other value it calls the check. */
const unlessNull = (check: (value: unknown) => boolean | Promise<boolean>) =>
  z.unknown().refine((value) => value === null || check(value))

const checks: readonly [string, z.ZodType, string][] = [
  [
    'throws',
    unlessNull(() => {
      throw new Error('broken\ncheck')
    }),
    'the schema could not check it: broken check',
  ],
  [
    'is async',
    unlessNull(async () => true),
    'the schema could not check it: it is asynchronous, but schemas must answer at once',
  ],
]

describe.each(checks)('a schema that %s finds a value wrong, and nothing is tried again:', (_, schema, why) => {
  const receive = (message: { value: unknown }, self: Self<unknown>) => {
    self.setState(message.value)
    self.reply('fine')
  }

  test.each([
    ['the input of an agent', { instructions: 'x', model: recordedModel('test/one', []), input: schema }],
    ['the input of a handler', { receive, input: schema }],
    ['the state of a handler', { receive, state: schema.refine((value) => value === null), initial: 1 }],
    ['the new state of a handler', { receive, state: schema, initial: null }],
    ['the result of a handler', { receive, output: schema }],
  ])('%s', async (_what, definition) => {
    await using troupe = await TestTroupe.start({ workers: { strict: defineWorker(definition as never) } })
    const result = await troupe.run('strict', 'x')
    expect(result).toMatchObject({ status: 'failed', failure: { attempt: 1, retryable: false } })
    expect(result).toMatchObject({ failure: { message: expect.stringMatching(new RegExp(`fit .+: ${why}$`)) } })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('the arguments of a tool are checked by its schema', async () => {
    const ran: unknown[] = []
    const tool = defineTool({
      name: 'act',
      description: 'x',
      effect: 'once',
      approval: 'never',
      input: schema,
      run: () => ran.push(1),
    })
    const model = recordedModel('test/one', [call('act', { arguments: 'x' }, 'a'), say('fine')])
    const agent = defineWorker({ instructions: 'x', model, tools: [tool] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'x')
    expect(await session.result()).toMatchObject({ status: 'completed' })
    const told = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(told).toMatchObject([{ status: 'error', output: { value: expect.stringContaining(why) } }])
    expect(ran).toEqual([])
  })
})
