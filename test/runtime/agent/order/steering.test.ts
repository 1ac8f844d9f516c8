/** Messages that come while an agent is busy: they steer the run in progress, or wait for the next run. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Session } from '../../../../src/client/session/session.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../../src/core/errors.ts'
import type { TurnStore } from '../../../../src/core/ports/ports.ts'
import { call, type ScriptedReply, say, together } from '../../../../src/models/local/scripted-model.ts'
import { notBegunText, notEndedText } from '../../../../src/runtime/tool/messages.ts'
import { changedStore } from '../../../support/changed-store.ts'
import { expectSound, isParked, openAsks, pay, resultOf, tools } from '../../../support/person/approvals.ts'
import { notedSteers } from '../../../support/person/noted-steers.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { gated, isRunning, messageOf, shown } from '../support/steered-agent.ts'

const instructions = 'Work.'

describe('a message that steers', () => {
  test('a message that steers comes behind the results of the open calls, before the next model call of the same run', async () => {
    const gate = Promise.withResolvers<string>()
    const wait = defineTool({ name: 'wait', description: 'Waits.', effect: 'idempotent', run: () => gate.promise })
    const { model } = gated([call('wait'), say('Done.')])
    const agent = defineWorker({ instructions, model, tools: [wait] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'ExecutingTools')
    expect(await messageOf(session, 'and be quick', 'steer')).toMatchObject({ position: 1, steers: true })
    expect(await messageOf(session, 'later', 'queue')).toMatchObject({ position: 2, steers: false })
    gate.resolve('waited')
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(shown(model.requests[1]?.messages)).toEqual([
      'user: go',
      'assistant: ',
      'tool: waited',
      'user: and be quick',
    ])
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'reply 3' } })
    expect(shown(model.requests[2]?.messages).at(-1)).toBe('user: later')
    const users = (await troupe.history(session.rootId)).filter(({ type }) => type === 'user')
    expect(users).toMatchObject([{ run: 1 }, { run: 1, when: 'steer' }, { run: 2 }])
    expect(users[2]).not.toHaveProperty('when')
    await expectSound(troupe)
  })

  test('a message that steers is read before the next model call even if only the commit of the results reported it', async () => {
    const gate = Promise.withResolvers<string>()
    const wait = defineTool({ name: 'wait', description: 'Waits.', effect: 'idempotent', run: () => gate.promise })
    const { model } = gated([call('wait'), say('Done.')])
    const aroundTurns = (turns: TurnStore) =>
      changedStore(turns, {
        async renew(requests) {
          const { steered: _, ...answer } = await turns.renew(requests)
          return answer
        },
      })
    const agent = defineWorker({ instructions, model, tools: [wait] })
    await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'ExecutingTools')
    await messageOf(session, 'and be quick', 'steer')
    gate.resolve('waited')
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'Done.' } })
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual(['tool: waited', 'user: and be quick'])
    await expectSound(troupe)
  })

  test('a message that steers is read before the next model call even if it came while a summary was written for that call', async () => {
    const gate = Promise.withResolvers<void>()
    const writing = Promise.withResolvers<void>()
    const writer = recordedModel('test/writer', async () => {
      writing.resolve()
      await gate.promise
      return say('A summary.')
    })
    const look = (inputTokens: number): ScriptedReply => ({ ...call('look'), usage: { inputTokens, outputTokens: 0 } })
    const { model } = gated([look(100), look(200), look(990), say('Done.')])
    const { noted, aroundTurns } = notedSteers()
    const agent = defineWorker({
      instructions,
      model,
      tools: [defineTool({ name: 'look', description: 'Looks.', effect: 'idempotent', run: () => 'nothing' })],
      compaction: { window: 1_000, keep: 2, model: writer, clearResults: false },
    })
    await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
    const session = await troupe.create('agent', 'go')
    await writing.promise
    await messageOf(session, 'and be quick', 'steer')
    await noted
    gate.resolve()
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'Done.' } })
    expect(model.requests).toHaveLength(4)
    expect(shown(model.requests[3]?.messages).at(-1)).toBe('user: and be quick')
    await expectSound(troupe)
  })

  test.each(['An answer.', ''])(
    'a message that comes while the model writes its last reply, "%s", lets the run go on in place of its end',
    async (last) => {
      const { model, open } = gated([say(last), say('A better one.')], [1])
      const { noted, aroundTurns } = notedSteers(2)
      const agent = defineWorker({ instructions, model, limits: { blankStops: 1 } })
      await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
      const session = await troupe.create('agent', 'go')
      await isRunning(session, 'AwaitingLLMResponse')
      await messageOf(session, 'shorter', 'steer')
      await messageOf(session, 'much', 'steer')
      await noted
      open(1)
      expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'A better one.' } })
      const said =
        last === '' ? ['user: go | shorter | much'] : ['user: go', `assistant: ${last}`, 'user: shorter | much']
      expect(shown(model.requests[1]?.messages)).toEqual(said)
      await expectSound(troupe)
    },
  )

  test.each([
    ['that came last', {}],
    ['whose calls its kind decides', { hooks: { toolBefore: () => undefined } }],
  ])('a message that steers is read before a terminal tool ends the run, of a reply %s', async (_what, kind) => {
    const submit = defineTool({
      name: 'submit',
      description: 'Ends.',
      terminal: true,
      input: z.object({ n: z.number() }),
    })
    const { model, open } = gated([together(call('submit', { n: 1 }), call('look')), call('submit', { n: 2 })], [1])
    const { noted, aroundTurns } = notedSteers()
    const agent = defineWorker({ instructions, model, tools: [submit, ...tools().tools], ...kind })
    await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'AwaitingLLMResponse')
    await messageOf(session, 'count again', 'steer')
    await noted
    open(1)
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { output: { n: 2 } } })
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual([
      `tool: ${notEndedText('submit')} | ${notBegunText}`,
      'user: count again',
    ])
    await expectSound(troupe)
  })

  test('a message that comes while the hook stop looks at the answer lets the run go on in place of its end', async () => {
    const { model } = gated([say('An answer.'), say('A better one.')])
    const created = Promise.withResolvers<Session>()
    const { noted, aroundTurns } = notedSteers()
    let asked = 0
    const stop = async () => {
      if (++asked > 1) return null
      await messageOf(await created.promise, 'shorter', 'steer')
      await noted
      return null
    }
    const agent = defineWorker({ instructions, model, hooks: { stop } })
    await using troupe = await TestTroupe.start({ workers: { agent }, aroundTurns })
    const session = await troupe.create('agent', 'go')
    created.resolve(session)
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'A better one.' } })
    expect(shown(model.requests[1]?.messages)).toEqual(['user: go', 'assistant: An answer.', 'user: shorter'])
    await expectSound(troupe)
  })

  test('a message that steers, and cannot be read because the store does not answer, fails no run: that goes on elsewhere', async () => {
    const { model, open } = gated([say('lost'), say('Done.')], [1])
    let reads = 0
    const { noted, aroundTurns } = notedSteers(1, (turns) => ({
      async readInputs(worker, positions) {
        if (++reads === 1) throw new TransientError('Redis cannot be reached.', { code: 'store_unavailable' })
        return turns.readInputs(worker, positions)
      },
    }))
    const policy = { leaseMs: 1_500, leaseMarginMs: 100, renewEveryMs: 300 }
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions, model }) },
      aroundTurns,
      policy,
    })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'AwaitingLLMResponse')
    await messageOf(session, 'and be quick', 'steer')
    await noted
    open(1)
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'Done.' } })
    expect(shown(model.requests.at(-1)?.messages)).toEqual(['user: go | and be quick'])
    await expectSound(troupe)
  })

  test('a message that steers is received once, in its run, even if the node of the run is gone', async () => {
    const { model } = gated([call('wait', {}, 'w'), say('Done.')])
    let runs = 0
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      effect: 'idempotent',
      run: (_, { signal }) =>
        ++runs > 1
          ? 'waited'
          : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    const agent = defineWorker({ instructions, model, tools: [wait] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await isRunning(session, 'ExecutingTools')
    await messageOf(session, 'and be quick', 'steer')
    await troupe.nodes[0]?.stop({ force: true })
    await troupe.startNode({ agent })
    expect(await resultOf(session)).toMatchObject({ status: 'completed', run: 1 })
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual(['tool: waited', 'user: and be quick'])
    expect((await troupe.history(session.rootId)).filter(({ type }) => type === 'user')).toHaveLength(2)
    await expectSound(troupe)
  })

  test('a message that steers begins a run if none is in progress', async () => {
    const { model } = gated([])
    await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions, model }) } })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    await resultOf(session)
    await waitUntil('it rests', async () => (await session.root.report()).status === 'idle')
    expect(await messageOf(session, 'more', 'steer')).toMatchObject({ steers: false })
    expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'reply 2' } })
    await expectSound(troupe)
  })

  test('a message that steers waits until an agent that waits for a person has its answer', async () => {
    const made = tools()
    const { model } = gated([pay(5), say('Done.')])
    const agent = defineWorker({ instructions, model, tools: made.tools })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    const [ask] = await openAsks(troupe)
    await isParked(session)
    await messageOf(session, 'thanks', 'steer')
    await isParked(session)
    expect(model.requests).toHaveLength(1)
    await troupe.client.asks.answer(ask?.id as string, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual(['tool: paid 5', 'user: thanks'])
    await expectSound(troupe)
  })
})
