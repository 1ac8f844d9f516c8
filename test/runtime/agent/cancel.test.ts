/** Cancelled agents: wherever a cancel meets them, in the end each call of each history has exactly one result. */
import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { toolCallsOf } from '../../../src/core/history/chat/chat-message.ts'
import { newId } from '../../../src/core/ids.ts'
import type { TurnStore } from '../../../src/core/ports/ports.ts'
import { call, say, together } from '../../../src/models/local/scripted-model.ts'
import { changedStore } from '../../support/changed-store.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** A tool that runs until its signal fires. */
const endless = defineTool({
  name: 'endless',
  description: 'Never ends by itself.',
  effect: 'idempotent',
  run: (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
})

const instructions = 'Work.'
const patient = defineWorker({
  instructions,
  model: recordedModel('test/patient', () => together(call('endless'), call('endless'))),
  tools: [endless],
})
const parent = defineWorker({
  instructions,
  model: recordedModel('test/parent', () =>
    together(
      ...[1, 2].map((input) => call('spawn_workers', { tasks: [{ kind: 'patient', input }] })),
      call('nothing_known'),
    ),
  ),
  spawns: ['patient'],
})
/** A node that hosts none of the other kinds, and therefore only finishes their cancels. */
const idle = { idle: defineWorker({ instructions, model: recordedModel('test/idle', () => say('x')) }) }

type Gate = PromiseWithResolvers<void>

const talker = defineWorker({ instructions, model: recordedModel('test/talker', () => say('hello')) })

const placesOf = async (session: Session) =>
  (await session.report()).workers.map(({ status, run }) => `${status} ${run}`)

/** Lists the workers as `<kind of the worker>: <results of each of its calls>`. */
async function results(troupe: TestTroupe, session: Session): Promise<string[]> {
  const { workers } = await session.report()
  const lines = workers.map(async ({ id, kind }) => {
    const history = await troupe.history(id)
    const calls = history.flatMap((entry) => (entry.type === 'assistant' ? toolCallsOf(entry) : []))
    const of = (wanted: string) =>
      history.flatMap((entry) => (entry.type === 'toolResult' && entry.toolCallId === wanted ? [entry.status] : []))
    return `${kind}: ${calls.map(({ toolCallId }) => of(toolCallId).join('+')).join(', ')}`
  })
  return (await Promise.all(lines)).sort()
}

const cancelled = (session: Session) =>
  waitUntil('the cancel is finished', async () => (await session.report()).session.state === 'cancelled')

describe('a cancel', () => {
  test('a cancel of a parent that waits for two children answers the calls of all three', async () => {
    await using troupe = await TestTroupe.start({ workers: { parent, patient } })
    const session = await troupe.create('parent')
    await waitUntil('the parent waits and its children use their tools', async () => {
      const places = await placesOf(session)
      return (
        places.length === 3 &&
        places[0] === 'parked ExecutingTools' &&
        places.filter((at) => at === 'running ExecutingTools').length === 2
      )
    })
    await session.cancel()
    expect(await awaitResult(session)).toMatchObject({ status: 'cancelled' })
    await cancelled(session)
    expect(await results(troupe, session)).toEqual([
      'parent: cancelled, cancelled, error',
      'patient: cancelled, cancelled',
      'patient: cancelled, cancelled',
    ])
    const last = (await troupe.history(session.rootId)).slice(-3).map(({ type }) => type)
    expect(last).toEqual(['toolResult', 'toolResult', 'cancelled'])
  })

  test('a cancel after a forced stop of the node answers all calls, even on a node that cannot run these kinds', async () => {
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode({ parent, patient })
    const session = await troupe.create('parent')
    await waitUntil('the parent waits and its children use their tools', async () => {
      const places = await placesOf(session)
      return places.length === 3 && places.filter((at) => at.endsWith('ExecutingTools')).length === 3
    })
    await node.stop({ force: true })
    await session.cancel()
    await troupe.startNode(idle)
    await cancelled(session)
    expect(await results(troupe, session)).toEqual([
      'parent: cancelled, cancelled, error',
      'patient: cancelled, cancelled',
      'patient: cancelled, cancelled',
    ])
    for (const { status } of (await session.report()).workers) expect(status).toBe('terminal')
  })

  test('a cancel of children whose parent has ended answers their calls, and the next run of the parent goes on', async () => {
    const model = recordedModel('test/leader', [
      together(call('spawn_workers', { tasks: [{ kind: 'patient', input: 1 }] }), call('once')),
      say('second'),
    ])
    const broken = defineTool({
      name: 'once',
      description: 'Takes effect once.',
      effect: 'once',
      approval: 'never',
      timeoutMs: 50,
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    const leader = defineWorker({ instructions, model, tools: [broken], spawns: ['patient'] })
    await using troupe = await TestTroupe.start({ workers: { leader, patient } })
    const session = await troupe.create('leader', 'go', { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed' })
    await session.root.send('on')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'second' } })
    await waitUntil('its child is at rest', async () => (await placesOf(session))[1]?.startsWith('terminal'))
    for (const line of await results(troupe, session)) {
      expect(line).toMatch(/^(leader: cancelled, unknown|patient: (cancelled, cancelled)?)$/)
    }
  })

  test('a cancel that arrives while the history is read ends the run afterwards', async () => {
    const [reading, told, mayRead] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate]
    /** Holds back the history, and says when the node was told of the cancel. */
    const held = (turns: TurnStore) =>
      changedStore(turns, {
        async readHistory(workerId, from) {
          reading.resolve()
          await mayRead.promise
          return turns.readHistory(workerId, from)
        },
        async renew(requests) {
          const answer = await turns.renew(requests)
          if (answer.verdicts.includes('cancelled')) told.resolve()
          return answer
        },
      })
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode({ patient: talker })
    const session = await troupe.create('patient', 'go', { keepOpen: true })
    await session.result({ run: 1 })
    await node.stop()
    await troupe.startNode({ patient: talker }, { aroundTurns: held, concurrency: 1 })
    await session.root.send('on')
    await reading.promise
    await session.cancel()
    await told.promise
    mayRead.resolve()
    await cancelled(session)
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual([
      'user',
      'assistant',
      'completed',
      'cancelled',
    ])
    // The slot of the cancelled worker is free again.
    expect(await troupe.run('patient')).toMatchObject({ status: 'completed' })
  })

  test('a cancel that arrives before a reply is recorded leaves it out, with no results for its calls [1.11]', async () => {
    let session: Session | undefined
    let replies = 0
    /** Cancels the session just before the commit that holds the second reply. */
    const late = (turns: TurnStore): TurnStore =>
      changedStore(turns, {
        async commit(request) {
          if (request.entries.some((json) => json.includes('"type":"assistant"')) && ++replies === 2)
            await session?.cancel()
          return turns.commit(request)
        },
      })
    const quick = defineTool({ name: 'quick', description: 'x', effect: 'idempotent', run: () => 1 })
    const model = recordedModel('test/quick', () => together(call('quick'), call('quick')))
    await using troupe = await TestTroupe.connect()
    session = await troupe.create('quick', 'go')
    await troupe.startNode({ quick: defineWorker({ instructions, model, tools: [quick] }) }, { aroundTurns: late })
    await cancelled(session)
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual([
      'user',
      'assistant',
      'toolResult',
      'toolResult',
      'cancelled',
    ])
    expect(await results(troupe, session)).toEqual(['quick: ok, ok'])
  })

  test('a cancel that arrives while a message is being sent leaves its call with one result (I10)', async () => {
    await using troupe = await TestTroupe.connect()
    const sink = await troupe.create('talker', 'hi', { keepOpen: true })
    const model = recordedModel('test/sender', [call('send_message', { to: sink.rootId, text: 'hi' }), say('no')])
    const sender = defineWorker({ instructions, model, spawns: ['talker'] })
    let isTold = false
    /** Once the message is sent, its node hears of the cancel before it hears of that. */
    const cancelling = (turns: TurnStore) =>
      changedStore(turns, {
        async renew(requests) {
          const answer = await turns.renew(requests)
          isTold ||= answer.verdicts.includes('cancelled')
          return answer
        },
        async commit(request) {
          const answer = await turns.commit(request)
          if (request.sends.length > 0) {
            await session.cancel()
            await waitUntil('the node was told of the cancel', () => isTold)
          }
          return answer
        },
      })
    const session = await troupe.create('sender', null, { permissions: { send: [sink.rootId] } })
    await troupe.startNode({ talker, sender }, { aroundTurns: cancelling })
    await cancelled(session)
    expect(await results(troupe, session)).toEqual(['sender: ok'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a cancel that arrives before the refusal of a message is recorded answers the open call with it (JOURNAL-2)', async () => {
    const model = recordedModel('test/sender', [call('send_message', { to: newId(0), text: 'hi' }), say('no')])
    const sender = defineWorker({ instructions, model, spawns: ['talker'] })
    const late = (turns: TurnStore) =>
      changedStore(turns, {
        async commit(request) {
          if (request.sends.length === 0 && request.entries.some((json) => json.includes('"toolResult"')))
            await session.cancel()
          return turns.commit(request)
        },
      })
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('sender')
    await troupe.startNode({ talker, sender }, { aroundTurns: late })
    await cancelled(session)
    expect(await results(troupe, session)).toEqual(['sender: error'])
  })

  test('a cancel that arrives after a `once` tool reported a passing error records that error as the result', async () => {
    const said = Promise.withResolvers<void>()
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      effect: 'once',
      approval: 'never',
      run: () => Promise.reject(new TransientError('the bank is busy')),
    })
    const look = defineTool({
      name: 'look',
      description: 'Looks for ever.',
      effect: 'once',
      approval: 'never',
      run() {
        said.resolve()
        return new Promise<void>(() => undefined)
      },
    })
    const model = recordedModel('test/payer', () => together(call('pay'), call('look')))
    await using troupe = await TestTroupe.start({
      workers: { payer: defineWorker({ instructions, model, tools: [pay, look] }) },
      // The second begins when the first has ended.
      policy: { toolsAtOnce: 1 },
    })
    const session = await troupe.create('payer')
    await said.promise
    await session.cancel()
    await cancelled(session)
    expect(await results(troupe, session)).toEqual(['payer: error, unknown'])
    const [paid] = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(paid).toMatchObject({ output: { value: expect.stringContaining('the bank is busy') } })
  })

  test('a cancel that arrives before the result of a `once` tool is recorded keeps that result', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      effect: 'once',
      approval: 'never',
      run(_, { setFact }) {
        setFact('receipt', 'R1')
        return { paid: true }
      },
    })
    const model = recordedModel('test/payer', () => call('pay'))
    const late = (turns: TurnStore) =>
      changedStore(turns, {
        async commit(request) {
          if (request.entries.some((json) => json.includes('"toolResult"'))) await session.cancel()
          return turns.commit(request)
        },
      })
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('payer')
    await troupe.startNode({ payer: defineWorker({ instructions, model, tools: [pay] }) }, { aroundTurns: late })
    await cancelled(session)
    expect(await results(troupe, session)).toEqual(['payer: ok'])
    const [paid] = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(paid).toMatchObject({ output: { value: { paid: true } }, facts: { receipt: 'R1' } })
  })
})
