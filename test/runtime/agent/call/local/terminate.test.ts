/** A model may say in a call that the loop ends after it. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { call, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { openAsks } from '../../../../support/person/approvals.ts'
import { notedSteers } from '../../../../support/person/noted-steers.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { runOnce, tool } from '../../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { awaitResult } from '../../../../support/time/await-session.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'
import { isRunning, messageOf } from '../../support/steered-agent.ts'

const seen: unknown[] = []
const save = defineTool({
  name: 'save',
  description: 'Saves a note.',
  effect: 'idempotent',
  input: z.strictObject({ note: z.string() }),
  run: (input) => {
    seen.push(input)
    if (input.note === 'bad') throw new RangeError('no')
    return `saved ${input.note}`
  },
})
const kind = { instructions: 'x', mayTerminate: true } as const

describe('a call with terminate: true', () => {
  test('a call with terminate: true ends the run after the calls of its reply, and its tool does not see the word [3.13]', async () => {
    seen.length = 0
    const count = tool('count', () => 1, 'once')
    const model = recordedModel('test/m', [
      together(say('Saved it.'), call('save', { note: 'a', terminate: true }), call('count', { n: 1 })),
    ])
    const { troupe, result, history } = await runOnce({ ...kind, model, tools: [save, count] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Saved it.' } })
    expect(seen).toEqual([{ note: 'a' }])
    expect(history.filter((entry) => entry.type === 'toolResult' && entry.status === 'ok')).toHaveLength(2)
    expect(model.requests[0]?.tools[0]?.inputSchema).toMatchObject({
      properties: { note: { type: 'string' }, terminate: { type: 'boolean' } },
      required: ['note'],
    })
  })

  test('a call with terminate: true makes what its tool returned the result, if the reply has no text', async () => {
    const model = recordedModel('test/m', [call('save', { note: 'a', terminate: true })])
    const { troupe, result } = await runOnce({ ...kind, model, tools: [save] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'saved a' } })
  })

  test.each([
    ['fails', { note: 'bad', terminate: true }],
    ['does not fit', { terminate: true }],
    ['says false', { note: 'a', terminate: false }],
  ])('a call with terminate: true that %s lets the model go on', async (_what, input) => {
    const model = recordedModel('test/m', [call('save', input), say('Then so.')])
    const { troupe, result } = await runOnce({ ...kind, model, tools: [save] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Then so.' } })
  })

  test('the argument terminate means nothing for a tool that has such an argument itself, or a kind that does not allow it', async () => {
    const got: boolean[] = []
    const own = defineTool({
      name: 'stop',
      description: 'Stops a machine.',
      effect: 'pure',
      input: z.object({ terminate: z.boolean() }),
      run: ({ terminate }) => void got.push(terminate),
    })
    for (const [agent, tools] of [
      [kind, [own]],
      [{ instructions: 'x' }, [tool('stop', () => 1)]],
    ] as const) {
      const model = recordedModel('test/m', [call('stop', { terminate: true }), say('Then so.')])
      const { troupe, result } = await runOnce({ ...agent, model, tools: [...tools] })
      await using _ = troupe
      expect(result).toMatchObject({ status: 'completed', value: { text: 'Then so.' } })
      expect(JSON.stringify(model.requests[0]?.tools)).not.toContain('you are not asked again')
    }
    expect(got).toEqual([true])
  })

  test('a call with terminate: true is shown to a person without the word, and its arguments can be changed', async () => {
    seen.length = 0
    const asks = { ...save, approval: 'always' } as const
    const model = recordedModel('test/m', [
      call('save', { note: 'a', terminate: true }),
      call('save', { note: 'b', terminate: true }),
    ])
    const agent = defineWorker({ ...kind, model, tools: [defineTool(asks)] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    const decide = async (how: { readonly arguments?: { readonly note: string } }) => {
      const [open] = await openAsks(troupe)
      const { arguments: shown } = (await troupe.client.approvals.get(open?.id as string)) as {
        readonly arguments: unknown
      }
      await troupe.client.approvals.decide(open?.id as string, { decision: 'approve', ...how })
      return shown
    }
    expect(await decide({ arguments: { note: 'c' } })).toEqual({ note: 'a' })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed' })
    await session.root.send('again')
    expect(await decide({})).toEqual({ note: 'b' })
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([{ note: 'c' }, { note: 'b' }])
  })

  test('a call with terminate: true that a node began and left runs with its own arguments, whatever reconcile changed in those it got', async () => {
    const got: string[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      effect: 'once',
      approval: 'never',
      input: z.strictObject({ to: z.string() }),
      run: ({ to }) => (got.push(to) === 1 ? new Promise(() => {}) : 'paid'),
      reconcile: async (input) => {
        input.to = 'somebody else'
        return { done: false }
      },
    })
    const model = recordedModel('test/m', [call('pay', { to: 'Ann', terminate: true })])
    const workers = { agent: defineWorker({ ...kind, model, tools: [pay] }) }
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode(workers)
    const session = await troupe.create('agent', 'go')
    await waitUntil('the tool runs', () => got.length === 1)
    await node.stop({ force: true })
    await troupe.startNode(workers)
    const result = await awaitResult(session)
    expect([result.status, got]).toEqual(['completed', ['Ann', 'Ann']])
  })

  test('a call with terminate: true does not end a run that has a message to read since', async () => {
    const gate = Promise.withResolvers<string>()
    const wait = defineTool({ name: 'wait', description: 'Waits.', effect: 'idempotent', run: () => gate.promise })
    const model = recordedModel('test/m', [call('wait', { terminate: true }), say('Then so.')])
    const { noted, aroundTurns } = notedSteers()
    const agent = defineWorker({ ...kind, model, tools: [wait] })
    await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'ExecutingTools')
    await messageOf(session, 'and count them', 'steer')
    await noted
    gate.resolve('waited')
    expect(await session.result()).toMatchObject({ status: 'completed', run: 1, value: { text: 'Then so.' } })
  })

  test('a call with terminate: true is recorded, and the next run goes on behind it', async () => {
    const model = recordedModel('test/m', [call('save', { note: 'a', terminate: true }), say('Hello.')])
    const { troupe, session } = await runOnce({ ...kind, model, tools: [save] })
    await using _ = troupe
    await session.root.send('And?')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'Hello.' } })
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })
})

test('mayTerminate must be true or false, and is refused for a kind with an output', () => {
  expect(() => defineWorker({ instructions: 'x', mayTerminate: 1 as never })).toThrow(/mayTerminate must be/)
  expect(() => defineWorker({ instructions: 'x', mayTerminate: true, output: z.string() })).toThrow(/terminal tool/)
})

test('a call with terminate: true ends the run also if a later release has another call of its reply denied', async () => {
  let isAtWork = false
  const put = (approval: 'never' | 'always') =>
    defineTool({
      name: 'put',
      description: 'Puts.',
      effect: 'idempotent',
      approval,
      run: () => {
        isAtWork = true
        return new Promise(() => {})
      },
    })
  const model = recordedModel('test/m', [together(call('save', { note: 'a', terminate: true }), call('put'))])
  const workers = (approval: 'never' | 'always') => ({
    agent: defineWorker({ ...kind, model, tools: [save, put(approval)] }),
  })
  await using troupe = await TestTroupe.connect()
  const node = await troupe.startNode(workers('never'))
  const session = await troupe.create('agent', 'go')
  const isSaved = async () => (await troupe.history(session.rootId)).some(({ type }) => type === 'toolResult')
  await waitUntil('one call is done and the other runs', async () => isAtWork && isSaved())
  await node.stop({ force: true })
  await troupe.startNode(workers('always'))
  const [ask] = await openAsks(troupe)
  await troupe.client.approvals.decide(ask?.id as string, { decision: 'deny' })
  const result = await awaitResult(session)
  expect(result).toMatchObject({ status: 'completed', value: { text: 'saved a' } })
})
