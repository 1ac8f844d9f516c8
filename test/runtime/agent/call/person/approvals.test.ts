/** Approvals: a call of a model waits for a person, and what they approved runs, or nothing. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../../../src/core/errors.ts'
import { approvalsOf } from '../../../../../src/core/history/run/call-approvals.ts'
import { call, type ScriptedReply, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../../../../src/store/keys.ts'
import { RedisTurnStore } from '../../../../../src/store/turn/turn-store.ts'
import {
  expectSound,
  instructions,
  isParked,
  look,
  openAsks,
  pay,
  resultOf,
  scripted,
  told,
  tools,
} from '../../../../support/person/approvals.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { awaitResult } from '../../../../support/time/await-session.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

/** A session whose model makes these calls, parked with so many asks, oldest call first. */
async function asking(count: number, reply: ScriptedReply, definition = {}) {
  const model = scripted(reply, say('Done.'))
  const made = tools()
  const clerk = defineWorker({ instructions, model, tools: made.tools, ...definition })
  const troupe = await TestTroupe.start({ workers: { clerk } })
  const session = await troupe.create('clerk', 'go')
  const asks = await openAsks(troupe, count)
  await isParked(session)
  const askOf = (toolCallId: string) =>
    asks.find(({ details }) => (details as { toolCallId: string }).toolCallId === toolCallId)?.id as string
  return { ...made, model, troupe, session, asks, askOf, [Symbol.asyncDispose]: () => troupe[Symbol.asyncDispose]() }
}

describe('a call that needs an approval', () => {
  test('a call that needs an approval waits without a slot, shows what would run, and runs once a person approves it, once [1.19, 1.28, 3.12]', async () => {
    await using made = await asking(1, pay(5))
    const { troupe, session, ledger, model } = made
    expect(made.asks[0]).toMatchObject({
      kind: 'approval',
      question: 'May pay run with {"amount":5}?',
      details: { tool: 'pay', toolCallId: 'pay-5', arguments: { amount: 5 } },
    })
    const report = await session.root.report()
    expect(report).toMatchObject({ node: null, run: 'AwaitingToolApproval', state: 'waiting' })
    expect(ledger).toEqual([])
    await expectSound(troupe)
    expect(report.approvals).toEqual([made.askOf('pay-5')])
    await troupe.client.asks.answer(made.askOf('pay-5'), 'approve', { by: 'ada' })
    await expect(troupe.client.asks.answer(made.askOf('pay-5'), 'deny')).rejects.toThrow(/was answered by ada/)
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(ledger).toEqual(['paid 5'])
    expect(told(model)).toEqual(['paid 5'])
    const types = (await troupe.history(session.rootId)).map(({ type }) => type)
    expect(types.slice(0, 6)).toEqual(['user', 'assistant', 'asked', 'received', 'toolStarted', 'toolResult'])
    await expectSound(troupe)
  })

  test('a call that needs an approval holds back the other calls of its reply; calls that need none are not asked about (APPROVALS-1) [1.45, 3.8, 4.20]', async () => {
    await using made = await asking(2, together(look(), pay(5), pay(6)))
    const { troupe, session, ledger } = made
    await troupe.client.asks.answer(made.askOf('pay-6'), 'approve')
    await isParked(session)
    expect(ledger).toEqual([])
    expect(await session.root.report()).toMatchObject({ run: 'AwaitingToolApproval' })
    await expectSound(troupe)
    await troupe.client.asks.answer(made.askOf('pay-5'), { decision: 'approve' })
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(ledger.toSorted()).toEqual(['looked', 'paid 5', 'paid 6'])
    await expectSound(troupe)
  })

  test('a call that needs an approval takes only a decision, with arguments that fit its tool', async () => {
    await using made = await asking(1, pay(5))
    const { asks } = made.troupe.client
    const wrong = [
      'yes',
      null,
      {},
      { decision: 'perhaps' },
      { decision: 'approve', arguments: { amount: -1 } },
      { decision: 'approve', arguments: { amount: 1, more: 2 } },
      { decision: 'approve', trust: 'all' },
      { decision: 'approve', other: 1 },
    ]
    for (const value of wrong)
      await expect(asks.answer(made.askOf('pay-5'), value)).rejects.toMatchObject({ code: 'input_invalid' })
    expect(made.ledger).toEqual([])
  })
})

describe('a call with arguments that a person changed', () => {
  test('a call with arguments that a person changed runs with those, and the model learns who changed them', async () => {
    await using made = await asking(1, pay(5))
    const { troupe, session, ledger, model } = made
    const decision = { decision: 'approve', arguments: { amount: 3 } }
    await troupe.client.asks.answer(made.askOf('pay-5'), decision, { by: 'ada' })
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(ledger).toEqual(['paid 3'])
    expect(told(model)).toEqual([
      'ada changed the arguments of this call before it ran. It ran with: {"amount":3}\npaid 3',
    ])
    await expectSound(troupe)
  })
})

describe('a call that is denied', () => {
  test('a denied call does not run, nor does any other of its reply, and each ends with one result in words [1.48, 3.7, 3.9]', async () => {
    await using made = await asking(3, together(pay(5), look(), pay(6), pay(7)))
    const { troupe, session, ledger, model, asks } = made
    await troupe.client.asks.answer(made.askOf('pay-5'), 'approve')
    await isParked(session)
    await troupe.client.asks.answer(made.askOf('pay-6'), 'deny', { by: 'ada', reason: 'too much' })
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(ledger).toEqual([])
    expect(told(model)).toEqual([
      'This call was approved, but it was not run, because another call of the same reply was denied.',
      'This call was not run, because another call of the same reply was denied.',
      'ada denied this call. It was not run. Reason: too much',
      'This call was not run, because another call of the same reply was denied.',
    ])
    expect(await troupe.client.asks.list()).toEqual([])
    const states = await session.asks({ state: 'any' })
    expect(states.map(({ state }) => state).toSorted()).toEqual(['answered', 'answered', 'withdrawn'])
    expect(asks).toHaveLength(3)
    const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(results).toMatchObject([
      { status: 'error', approval: 'approved' },
      { status: 'error' },
      { status: 'error', approval: 'denied' },
      { status: 'error', approval: 'pending' },
    ])
    await expectSound(troupe)
  })

  test('a call denied by an answer that no client bound to it is asked about again, for nothing was approved (APPROVALS-2)', async () => {
    await using made = await asking(1, pay(5))
    const { troupe, session, ledger } = made
    await troupe.nodes[0]?.stop()
    await troupe.client.asks.answer(made.askOf('pay-5'), 'approve')
    const { signals } = workerKeys(troupe.tag, session.rootId)
    const mail = (await troupe.redis.lindex(signals, 0)) as string
    await troupe.redis.lset(signals, 0, mail.replace(/,"hash":"\w+"/, ''))
    await troupe.startNode({ clerk: defineWorker({ instructions, model: made.model, tools: made.tools }) })
    const [again] = await openAsks(troupe)
    expect(again?.id).not.toBe(made.askOf('pay-5'))
    expect(again?.details).toMatchObject({ again: expect.stringContaining('not the one that was approved') })
    expect(ledger).toEqual([])
    await isParked(session)
    await expectSound(troupe)
    await troupe.client.asks.answer(again?.id as string, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(ledger).toEqual(['paid 5'])
    await expectSound(troupe)
  })
})

describe('a kind that says onDeny: others', () => {
  test('a kind that says onDeny: others runs the permitted calls when one is denied, once all are decided', async () => {
    await using made = await asking(2, together(pay(5), look(), pay(6)), { approval: { onDeny: 'others' } })
    const { troupe, session, ledger, model } = made
    await troupe.client.asks.answer(made.askOf('pay-5'), 'deny')
    await waitUntil('the denial is recorded', async () =>
      (await troupe.history(session.rootId)).some(({ type }) => type === 'toolResult'),
    )
    await isParked(session)
    expect(ledger).toEqual([])
    await expectSound(troupe)
    await troupe.client.asks.answer(made.askOf('pay-6'), 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(ledger.toSorted()).toEqual(['looked', 'paid 6'])
    expect(told(model)).toEqual([
      'A person denied this call. It was not run. No reason was given: ask what to do instead, or go on without it.',
      'looked',
      'paid 6',
    ])
    await expectSound(troupe)
  })
})

describe('a call that a rule forbids', () => {
  test('a call that a rule forbids asks nobody and ends with an error, while the others of its reply run [1.46]', async () => {
    const model = scripted(together(pay(5), look()), say('Done.'))
    const made = tools()
    const rule = { tool: 'pay', when: ({ amount }: { amount: number }) => amount > 4 }
    const clerk = defineWorker({ instructions, model, tools: made.tools, approval: { deny: [rule] } })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(made.ledger).toEqual(['looked'])
    expect(told(model)).toEqual([expect.stringMatching(/this call of 'pay' is forbidden: .*It was not run/), 'looked'])
    expect(await session.asks({ state: 'any' })).toEqual([])
    const entries = await troupe.history(session.rootId)
    expect(approvalsOf(entries).get('pay-5')).toMatchObject({ status: 'denied', askId: null })
    await expectSound(troupe)
  })

  test('a call that a rule forbids stays forbidden with arguments that a person wrote: the person is asked again, and learns why [1.44]', async () => {
    const rule = { tool: 'pay', when: ({ amount }: { amount: number }) => amount > 9 }
    await using made = await asking(1, pay(5), { approval: { deny: [rule] } })
    const { troupe, session, ledger } = made
    await troupe.client.asks.answer(made.askOf('pay-5'), { decision: 'approve', arguments: { amount: 10 } })
    const again = await waitUntil('it asks again', async () => {
      const [ask] = await session.asks()
      return ask?.id !== made.askOf('pay-5') && ask
    })
    expect(again.details).toMatchObject({ arguments: { amount: 5 }, again: expect.stringContaining('forbidden') })
    expect(ledger).toEqual([])
    await isParked(session)
    await expectSound(troupe)
    await troupe.client.asks.answer(again.id, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(ledger).toEqual(['paid 5'])
  })
})

describe('a reply with a call that needs an approval', () => {
  test('a reply with a call that needs an approval starts no children and asks no questions before the decision (APPROVALS-1)', async () => {
    const spawn = call('spawn_workers', { tasks: [{ kind: 'child', input: 1 }] }, 'spawn')
    const question = call('ask_person', { question: 'Why?' }, 'ask')
    const model = scripted(together(spawn, question, pay(5)), say('Done.'))
    const made = tools()
    const clerk = defineWorker({ instructions, model, tools: made.tools, asks: true, spawns: ['child'] })
    const child = defineWorker({ receive: (_message, self) => self.reply('child') })
    await using troupe = await TestTroupe.start({ workers: { clerk, child } })
    const session = await troupe.create('clerk', 'go')
    const [ask] = await openAsks(troupe)
    await isParked(session)
    expect(ask).toMatchObject({ kind: 'approval' })
    expect((await session.report()).workers).toHaveLength(1)
    await troupe.client.asks.answer(ask?.id as string, 'approve')
    const [why] = await openAsks(troupe)
    expect(why).toMatchObject({ kind: 'question', question: 'Why?' })
    expect((await session.report()).workers).toHaveLength(2)
    await troupe.client.asks.answer(why?.id as string, 'because')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(made.ledger).toEqual(['paid 5'])
    await expectSound(troupe)
  })

  test('an approval that a reply asks for is withdrawn by a cancel, and the calls of the reply end as cancelled [1.49]', async () => {
    await using made = await asking(2, together(pay(5), look(), pay(6)))
    const { troupe, session } = made
    await troupe.client.asks.answer(made.askOf('pay-5'), 'approve')
    await session.cancel()
    expect(await resultOf(session)).toMatchObject({ status: 'cancelled' })
    expect(await troupe.client.asks.list()).toEqual([])
    await expect(troupe.client.asks.answer(made.askOf('pay-6'), 'approve')).rejects.toMatchObject({
      code: 'ask_withdrawn',
    })
    const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(results.map((entry) => 'status' in entry && entry.status)).toEqual(['cancelled', 'cancelled', 'cancelled'])
    expect(made.ledger).toEqual([])
    await expectSound(troupe)
  })

  test('a reply with a call that needs an approval leaves an input that comes in between to the next run', async () => {
    const model = scripted(pay(5), say('Paid.'), say('Next.'))
    const made = tools()
    const clerk = defineWorker({ instructions, model, tools: made.tools })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go', { keepOpen: true })
    const [ask] = await openAsks(troupe)
    await isParked(session)
    await session.root.send('and now?')
    await isParked(session)
    expect(model.requests).toHaveLength(1)
    await troupe.client.asks.answer(ask?.id as string, 'approve')
    const result = await awaitResult(session, { run: 2 })
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Next.' } })
    expect(made.ledger).toEqual(['paid 5'])
    await expectSound(troupe)
  })

  test('an approval is asked for again when its run failed and is retried: it holds for one attempt', async () => {
    let isMended = false
    const breaks = defineTool({
      name: 'breaks',
      description: 'Breaks.',
      effect: 'idempotent',
      approval: 'always',
      run() {
        if (!isMended) throw new TerminalError('it is broken')
        return 'mended'
      },
    })
    const model = scripted(call('breaks', {}, 'c1'), say('Done.'))
    const clerk = defineWorker({ instructions, model, tools: [breaks] })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    const [first] = await openAsks(troupe)
    await troupe.client.asks.answer(first?.id as string, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'failed' })
    isMended = true
    await session.retry()
    const [again] = await openAsks(troupe)
    expect(again?.id).not.toBe(first?.id)
    await isParked(session)
    await expectSound(troupe)
    await troupe.client.asks.answer(again?.id as string, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(told(model)).toEqual(['mended'])
    await expectSound(troupe)
  })
})

test('an answer that comes while a denial is recorded is taken first, and the counts stay right (APPROVALS-3)', async () => {
  const model = scripted(together(pay(5), pay(6)), say('Done.'))
  const made = tools()
  const clerk = defineWorker({ instructions, model, tools: made.tools })
  await using troupe = await TestTroupe.connect()
  const node = await troupe.startNode({ clerk })
  const session = await troupe.create('clerk', 'go')
  const asks = await openAsks(troupe, 2)
  await isParked(session)
  const [denied, other] = asks.map(({ id }) => id) as [string, string]
  // oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
  const { commit } = RedisTurnStore.prototype
  let hasAnswered = false
  RedisTurnStore.prototype.commit = async function (this: RedisTurnStore, request) {
    if (request.withdraws.length > 0 && !hasAnswered) {
      hasAnswered = true
      await troupe.client.asks.answer(other, 'approve')
    }
    return commit.call(this, request)
  }
  try {
    await troupe.client.asks.answer(denied, 'deny')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
  } finally {
    RedisTurnStore.prototype.commit = commit
  }
  expect(hasAnswered).toBe(true)
  expect(told(model)).toContainEqual(expect.stringContaining('was approved, but it was not run'))
  expect((await session.asks({ state: 'any' })).map(({ state }) => state)).toEqual(['answered', 'answered'])
  expect(made.ledger).toEqual([])
  await node.stop()
  await expectSound(troupe)
})
