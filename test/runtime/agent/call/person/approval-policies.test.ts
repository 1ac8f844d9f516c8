/** What a session says about approvals: its policy, and what happens if nobody answers. */
import { describe, expect, test } from 'vitest'
import type { CreateSession } from '../../../../../src/client/submission/submission.ts'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { approvalsOf } from '../../../../../src/core/history/run/call-approvals.ts'
import { call, type ScriptedReply, say, together } from '../../../../../src/models/local/scripted-model.ts'
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
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'

describe('a session', () => {
  /** A session of this kind whose model makes these calls. */
  async function started(reply: ScriptedReply, options: Partial<CreateSession>) {
    const model = scripted(reply, say('Done.'))
    const made = tools()
    const clerk = defineWorker({ instructions, model, tools: made.tools })
    const troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go', options)
    return { ...made, model, troupe, session, [Symbol.asyncDispose]: () => troupe[Symbol.asyncDispose]() }
  }

  const forbidden =
    'Error: this call of \'pay\' is forbidden: the session is readOnly, and the tool is of effect "once". It was not run. Do not make it again with these arguments.'
  test.each([
    ['auto', ['looked', 'paid 5'], 'paid 5'],
    ['readOnly', ['looked'], forbidden],
  ] as const)('a session with the policy %s asks nobody', async (approval, ledger, text) => {
    await using made = await started(together(pay(5), look()), { approval })
    expect(await resultOf(made.session)).toMatchObject({ status: 'completed' })
    expect(made.ledger.toSorted()).toEqual(ledger)
    expect(told(made.model)).toEqual([text, 'looked'])
    expect(await made.session.asks({ state: 'any' })).toEqual([])
    await expectSound(made.troupe)
  })

  test('a session where nobody answers denies at once, or fails [1.47]', async () => {
    await using denies = await started(together(pay(5), look()), { whenNobodyAnswers: 'deny' })
    expect(await resultOf(denies.session)).toMatchObject({ status: 'completed' })
    expect(denies.ledger).toEqual([])
    expect(told(denies.model)).toEqual([
      'This call needs the approval of a person, and nobody is there to give it. It was not run. Go on without it.',
      'This call was not run, because another call of the same reply was denied.',
    ])
    await expectSound(denies.troupe)
    await using fails = await started(together(pay(5), look()), { whenNobodyAnswers: 'fail' })
    expect(await resultOf(fails.session)).toMatchObject({
      status: 'failed',
      failure: {
        code: 'approval_needed',
        message: expect.stringMatching(/call pay-5 of tool "pay" .*whenNobodyAnswers/),
      },
    })
    expect(fails.ledger).toEqual([])
    expect(await fails.session.asks({ state: 'any' })).toEqual([])
    await expectSound(fails.troupe)
  })

  const late = 'Nobody approved this call in time. It was not run. Go on without it.'
  test.each([
    ['deny', 'completed', late],
    ['fail', 'failed', undefined],
  ] as const)(
    'an approval that expires has the outcome that its session chose: %s',
    async (whenNobodyAnswers, status, text) => {
      await using made = await started(together(pay(5), pay(6)), { whenNobodyAnswers, approvalMs: 400 })
      const result = await resultOf(made.session)
      expect(result.status).toBe(status)
      expect(result.status === 'failed' ? result.failure.code : null).toBe(
        status === 'failed' ? 'approval_needed' : null,
      )
      expect(told(made.model).find((said) => said === late)).toBe(text)
      expect(made.ledger).toEqual([])
      const states = (await made.session.asks({ state: 'any' })).map(({ state }) => state)
      expect(states).toHaveLength(2)
      expect(states).toContain('expired')
      await expectSound(made.troupe)
    },
  )

  test('a session whose policy becomes auto has its open asks withdrawn when its worker goes on', async () => {
    await using made = await started(together(pay(5), pay(6)), {})
    const { troupe, session } = made
    const asks = await openAsks(troupe, 2)
    await isParked(session)
    await session.setApproval('auto')
    await troupe.client.asks.answer(asks[0]?.id as string, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(made.ledger.toSorted()).toEqual(['paid 5', 'paid 6'])
    expect((await session.asks({ state: 'any' })).map(({ state }) => state).toSorted()).toEqual([
      'answered',
      'withdrawn',
    ])
    const approvals = approvalsOf(await troupe.history(session.rootId))
    expect([...approvals.values()].map(({ status }) => status)).toEqual(['approved', 'approved'])
    await expectSound(troupe)
  })

  test('a session whose policy becomes readOnly runs no call that was approved or asked about', async () => {
    await using made = await started(together(pay(5), pay(6)), {})
    const { troupe, session } = made
    const asks = await openAsks(troupe, 2)
    await isParked(session)
    await session.setApproval('readOnly')
    await troupe.client.asks.answer(asks[0]?.id as string, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(made.ledger).toEqual([])
    expect(told(made.model)).toEqual([forbidden, forbidden])
    const approvals = approvalsOf(await troupe.history(session.rootId))
    expect([...approvals.values()].map(({ status }) => status)).toEqual(['denied', 'denied'])
    await expectSound(troupe)
  })

  test('a session that trusts a tool asks about it no more, and approves what was asked about it', async () => {
    const model = scripted(together(pay(5), pay(6)), pay(7), say('Done.'))
    const other = scripted(pay(8), say('Done.'))
    const made = tools()
    const clerk = defineWorker({ instructions, model, tools: made.tools, spawns: ['aide'] })
    const aide = defineWorker({ instructions, model: other, tools: made.tools })
    const lead = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') for (const kind of ['clerk', 'aide']) self.spawn(kind, 'go')
        else if (self.openChildren === 0) self.reply('all paid')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { lead, clerk, aide } })
    const session = await troupe.create('lead', 'go')
    const asks = await openAsks(troupe, 3)
    const first = asks.find(({ question }) => question.includes('5'))?.id as string
    await expect(troupe.client.asks.answer(first, { decision: 'deny', trust: 'tool' })).rejects.toMatchObject({
      code: 'input_invalid',
    })
    await troupe.client.asks.answer(first, { decision: 'approve', trust: 'tool' }, { by: 'ada' })
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: 'all paid' })
    expect(made.ledger.toSorted()).toEqual(['paid 5', 'paid 6', 'paid 7', 'paid 8'])
    expect(await session.asks({ state: 'any' })).toHaveLength(3)
    await expectSound(troupe)
  })

  test('a session never trusts a tool that is dangerous, whatever its policy [3.10]', async () => {
    const wipe = defineTool({
      name: 'wipe',
      description: 'x',
      effect: 'idempotent',
      dangerous: true,
      run: () => 'wiped',
    })
    const clerk = defineWorker({ instructions, model: scripted(call('wipe', {}, 'w1'), say('Done.')), tools: [wipe] })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go', { approval: 'auto' })
    const [ask] = await openAsks(troupe)
    const answer = troupe.client.asks.answer(ask?.id as string, { decision: 'approve', trust: 'tool' })
    await expect(answer).rejects.toThrow(/trust in tool "wipe" would change nothing, because the tool is dangerous/)
    await troupe.client.asks.answer(ask?.id as string, 'approve')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
  })
})

test('calls that are denied again and again end their run, from whatever state it is in', async () => {
  const made = tools()
  const model = recordedModel('test/m', (_request, number) => pay(5, `pay-${number}`))
  const agent = defineWorker({ instructions: 'x', model, tools: made.tools, limits: { sameErrors: 2 } })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'go')
  for (let times = 1; times <= 2; times++) {
    const [ask] = await openAsks(troupe)
    await troupe.client.asks.answer(ask?.id as string, 'deny', { by: 'ada', reason: 'no' })
  }
  // A node logs an event that does not apply to the state of a run, and this test fails then.
  expect(await resultOf(session)).toMatchObject({ status: 'failed', failure: { code: 'circuit_open' } })
  expect(await session.root.report()).toMatchObject({ run: 'Failed' })
})
