/** The tool `ask_person`: a model asks a person, the run waits without a slot, and the answer is the result of the call. */
import { describe, expect, test } from 'vitest'
import type { Ask } from '../../../../../src/client/person/asks.ts'
import type { Session } from '../../../../../src/client/session/session.ts'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../../../src/core/errors.ts'
import { call, type ScriptedReply, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { AgentTools } from '../../../../../src/runtime/agent/call/agent-tools.ts'
import { answerOutput } from '../../../../../src/runtime/agent/call/person/ask-person.ts'
import { workerKeys } from '../../../../../src/store/keys.ts'
import { expectInvariants } from '../../../../support/fault/oracle.ts'
import { type RecordedModel, recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { awaitResult } from '../../../../support/time/await-session.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

const instructions = 'Ask.'
const ask = (question: string, id: string, options?: string[]) =>
  call('ask_person', { question, ...(options && { options }) }, id)

/** A model that gives these replies; each call sees the results of the calls before. */
const scripted = (...replies: readonly (ScriptedReply | Error)[]) => recordedModel('test/m', replies)

/** What the newest request tells the model about the calls before it. */
function told(model: RecordedModel): unknown[] {
  const messages = model.requests.at(-1)?.messages ?? []
  return messages.flatMap((message) =>
    message.role === 'tool' ? message.results.map(({ output }) => (output as { value: unknown }).value) : [],
  )
}

async function openAsks(troupe: TestTroupe, count = 1): Promise<Ask[]> {
  return waitUntil('the asks are open', async () => {
    const asks = await troupe.client.asks.list()
    return asks.length === count && asks
  })
}

const isParked = (session: Session) =>
  waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')

async function expectSound(troupe: TestTroupe) {
  expect((await troupe.client.audit()).findings).toEqual([])
  await expectInvariants(troupe.redis, troupe.namespace)
}

describe('a model that asks a person', () => {
  test('a model that asks a person waits without a slot, and reads the answer, who gave it and why, as the result of its call', async () => {
    const model = scripted(ask('Send it?', 'c1', ['yes', 'no']), say('Sent.'))
    await using troupe = await TestTroupe.start({
      workers: { clerk: defineWorker({ instructions, model, asks: true }) },
    })
    const session = await troupe.create('clerk', 'go')
    const [open] = await openAsks(troupe)
    expect(open).toMatchObject({ kind: 'question', question: 'Send it?', options: ['yes', 'no'], workerKind: 'clerk' })
    await isParked(session)
    expect(await session.root.report()).toMatchObject({ node: null, waitsFor: 'a person to answer "Send it?"' })
    await expectSound(troupe)
    await expect(troupe.client.asks.answer(open?.id as string, 'perhaps')).rejects.toMatchObject({
      code: 'input_invalid',
    })
    await troupe.client.asks.answer(open?.id as string, 'yes', { by: 'ada', reason: 'it is checked' })
    expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: { text: 'Sent.' } })
    expect(told(model)).toEqual(['ada answered: yes\nReason: it is checked'])
    expect(await troupe.client.asks.list()).toEqual([])
    const types = (await troupe.history(session.rootId)).map(({ type }) => type)
    expect(types).toEqual(['user', 'assistant', 'asked', 'received', 'toolResult', 'assistant', 'completed'])
    await expectSound(troupe)
  })

  test('a model that asks a person has its other calls run in the meantime, and is called when all questions, children and tools have results', async () => {
    let seen = 0
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      effect: 'once',
      approval: 'never',
      run: () => `seen ${++seen}`,
    })
    const child = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.ask('Child?')
        else self.reply(message.value)
      },
    })
    const model = scripted(
      together(
        ask('First?', 'c1'),
        call('look', {}, 'c2'),
        call('spawn_workers', { tasks: [{ kind: 'child', input: 1 }] }, 'c3'),
        ask('Second?', 'c4'),
      ),
      say('Done.'),
    )
    const clerk = defineWorker({ instructions, model, tools: [look], asks: true, spawns: ['child'] })
    await using troupe = await TestTroupe.start({ workers: { clerk, child } })
    const session = await troupe.create('clerk', 'go')
    const asks = await openAsks(troupe, 3)
    await isParked(session)
    expect(seen).toBe(1)
    // In each order of answers and results the run waits for the last of them.
    for (const question of ['Second?', 'Child?', 'First?']) {
      expect(model.requests).toHaveLength(1)
      await isParked(session)
      await expectSound(troupe)
      const { id } = asks.find((one) => one.question === question) as Ask
      await troupe.client.asks.answer(id, { to: question })
    }
    expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(seen).toBe(1)
    expect(told(model)).toEqual([
      'Somebody answered: {"to":"First?"}',
      'seen 1',
      [expect.objectContaining({ status: 'completed' })],
      'Somebody answered: {"to":"Second?"}',
    ])
    await expectSound(troupe)
  })

  test('a model that asks a person gets the answer on another node, even if its kind may not ask there any more (ASKED-1)', async () => {
    await using troupe = await TestTroupe.connect()
    const before = await troupe.startNode({
      clerk: defineWorker({ instructions, model: scripted(ask('Go on?', 'c1')), asks: true }),
    })
    const session = await troupe.create('clerk', 'go')
    const [open] = await openAsks(troupe)
    await isParked(session)
    await before.stop()
    await troupe.client.asks.answer(open?.id as string, 'yes')
    const model = scripted(say('Went on.'))
    await troupe.startNode({ clerk: defineWorker({ instructions, model }) })
    expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: { text: 'Went on.' } })
    expect(told(model)).toEqual(['Somebody answered: yes'])
    expect(await session.asks({ state: 'any' })).toHaveLength(1)
    await expectSound(troupe)
  })

  test('a model that asks a person has its question withdrawn by a cancel', async () => {
    const clerk = defineWorker({ instructions, model: scripted(ask('Go on?', 'c1')), asks: true })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    await openAsks(troupe)
    await isParked(session)
    await session.cancel()
    expect(await awaitResult(session)).toMatchObject({ status: 'cancelled' })
    expect(await session.asks({ state: 'any' })).toMatchObject([{ state: 'withdrawn' }])
    const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(results).toMatchObject([{ toolCallId: 'c1', status: 'cancelled' }])
    await expectSound(troupe)
  })

  test('a question of a failed run is withdrawn, and asked again when the run is retried (ASK-PERSON-1)', async () => {
    let isMended = false
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      effect: 'idempotent',
      run() {
        if (!isMended) throw new TerminalError('no such account')
        return 'paid'
      },
    })
    const model = scripted(together(ask('Pay?', 'c1'), call('pay', {}, 'c2')), say('Done.'))
    const clerk = defineWorker({ instructions, model, tools: [pay], asks: true })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
    expect(await session.asks({ state: 'any' })).toMatchObject([{ state: 'withdrawn' }])
    await expectSound(troupe)
    isMended = true
    await session.retry()
    const [again] = await openAsks(troupe)
    await isParked(session)
    await expectSound(troupe)
    await troupe.client.asks.answer(again?.id as string, 'yes')
    expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(told(model)).toEqual(['Somebody answered: yes', 'paid'])
    await expectSound(troupe)
  })

  test('a question whose answer cannot be read fails, and says so', async () => {
    const clerk = defineWorker({ instructions, model: scripted(ask('Go on?', 'c1')), asks: true })
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode({ clerk })
    const session = await troupe.create('clerk', 'go')
    const [open] = await openAsks(troupe)
    await isParked(session)
    await node.stop()
    await troupe.client.asks.answer(open?.id as string, 'yes')
    const { signals } = workerKeys(troupe.tag, session.rootId)
    const mail = (await troupe.redis.lindex(signals, 0)) as string
    await troupe.redis.lset(signals, 0, mail.slice(0, -3))
    await troupe.startNode({ clerk })
    const failure = { code: 'input_invalid', message: expect.stringMatching(/an answer to worker .* cannot be read/) }
    expect(await awaitResult(session)).toMatchObject({ status: 'failed', failure })
    await expectSound(troupe)
  })
})

describe('ask_person', () => {
  const agent = (asks?: boolean) =>
    new AgentTools(defineWorker({ instructions, ...(asks !== undefined && { asks }) }), [])
  const host = { describeKind: () => '' }
  const offered = (tools: AgentTools, allowed?: readonly string[]) =>
    tools.specs({ assignment: { permissions: { tools: allowed } }, host } as never).map(({ name }) => name)

  test('ask_person is a tool of kinds that ask, unless permissions name other tools', () => {
    expect(offered(agent(true))).toEqual(['ask_person'])
    expect(offered(agent(true), ['ask_person'])).toEqual(['ask_person'])
    expect(offered(agent(true), ['look'])).toEqual([])
    expect(offered(agent(false))).toEqual([])
    expect(offered(agent())).toEqual([])
  })

  const good = { question: 'Send it?' }
  test.each([
    ['a question', good, true],
    ['a question with options', { ...good, options: ['yes', 'no'] }, true],
    ['no question', {}, false],
    ['an empty question', { question: ' ' }, false],
    ['a question that is no text', { question: 7 }, false],
    ['a question that is too long', { question: 'ä'.repeat(2_001) }, false],
    ['an empty list of options', { ...good, options: [] }, false],
    ['an empty option', { ...good, options: [''] }, false],
    ['too many options', { ...good, options: Array.from({ length: 51 }, String) }, false],
    ['another field', { ...good, to: 'ada' }, false],
  ])('ask_person takes or refuses %s', (_what, input, isGood) => {
    const block = { type: 'tool-call', toolCallId: 'c1', toolName: 'ask_person', input } as const
    const checked = agent(true).check(block, { permissions: {} } as never)
    expect(checked.kind).toBe(isGood ? 'accepted' : 'invalid')
    const other = agent(true).check(block, { permissions: { tools: ['look'] } } as never)
    expect(other).toMatchObject({ kind: 'invalid', text: expect.stringContaining('ask_person') })
  })

  const answer = {
    kind: 'answer',
    id: 'a',
    from: null,
    status: 'answered',
    value: 'yes',
    by: null,
    reason: null,
  } as const
  test.each([
    ['a text', answer, 'Somebody answered: yes'],
    ['a value', { ...answer, value: { n: 1 }, by: 'ada' }, 'ada answered: {"n":1}'],
    ['a reason', { ...answer, reason: 'safe' }, 'Somebody answered: yes\nReason: safe'],
    [
      'no answer in time',
      { ...answer, status: 'expired', value: null } as const,
      'Nobody answered in time. Go on without an answer.',
    ],
    [
      'a value for that case',
      { ...answer, status: 'expired' } as const,
      'Nobody answered in time. Go on without an answer. Take this in place of an answer: yes',
    ],
  ])('ask_person tells a model of %s in words', (_what, message, words) => {
    expect(answerOutput(message, 1_000)).toEqual({ type: 'text', value: words })
  })
})

test('the option asks of an agent must be true or false', () => {
  expect(() => defineWorker({ instructions, asks: 'yes' as never })).toThrow(/asks must be true or false/)
})
