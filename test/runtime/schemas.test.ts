/** Schemas of input and state: what does not fit fails the run with a typed error, once. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../src/core/define-worker.ts'
import { expectInvariants } from '../support/oracle.ts'
import { recordedModel } from '../support/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'

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
          self.setState(message.value)
          self.reply('kept')
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
