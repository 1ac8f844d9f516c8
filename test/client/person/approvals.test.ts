/** Approvals of tool calls: the inbox, one of them, and the decision. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { call, say, together } from '../../../src/models/local/scripted-model.ts'
import { askKey } from '../../../src/store/keys.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** An agent that asks to pay 1 and 2, then 3, and that may delete. */
async function begin() {
  const paid: number[] = []
  const input = z.object({ cents: z.int() })
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    effect: 'once',
    input,
    run: ({ cents }) => void paid.push(cents),
  })
  const wipe = defineTool({ name: 'delete_all', description: 'Deletes.', effect: 'once', run: () => void paid.push(0) })
  const model = recordedModel('test/m', [
    together(call('pay', { cents: 1 }, 'c1'), call('pay', { cents: 2 }, 'c2'), call('delete_all', {}, 'c3')),
    call('pay', { cents: 3 }, 'c4'),
    say('done'),
  ])
  const worker = defineWorker({ instructions: 'x', model, tools: [pay, wipe] })
  const troupe = await TestTroupe.start({ workers: { agent: worker } })
  const session = await troupe.client.sessions.create({ kind: 'agent', input: 'go' })
  const open = (count: number) =>
    waitUntil(`${count} approvals are open`, async () => {
      const found = await troupe.client.approvals.list({ sessionId: session.id })
      return found.length === count && found
    })
  const result = () => awaitResult(session)
  return { troupe, session, paid, open, result, approvals: troupe.client.approvals }
}

test('an approval names the tool, its arguments and why, and its decision names who decided and why', async () => {
  const { troupe, approvals, open } = await begin()
  await using _ = troupe
  const found = (await open(3)).toSorted((a, b) => (a.toolCallId < b.toolCallId ? -1 : 1))
  const [first, , wipe] = found
  expect(first).toMatchObject({ tool: 'pay', toolCallId: 'c1', arguments: { cents: 1 }, state: 'open', decided: null })
  expect(first).toMatchObject({ eachTime: false, why: expect.stringContaining('once') })
  expect(wipe).toMatchObject({ tool: 'delete_all', eachTime: true })
  const id = first?.id ?? ''
  expect(await approvals.decide(id, { decision: 'deny', reason: 'no', by: 'ada' })).toMatchObject({
    askId: id,
    decision: 'deny',
    alsoApproved: [],
  })
  expect((await approvals.get(id)).decided).toEqual({ decision: 'deny', by: 'ada', reason: 'no' })
  await expect(approvals.decide(id, { decision: 'approve' })).rejects.toMatchObject({ code: 'ask_answered' })
})

test('trust in a tool approves its other open calls, and later ones run without a question', async () => {
  const { troupe, session, paid, approvals, open, result } = await begin()
  await using _ = troupe
  const found = await open(3)
  const [first, second] = found.filter(({ tool }) => tool === 'pay')
  // While the session is paused, its worker cannot withdraw what is needed no more.
  await session.pause()
  const decided = await approvals.decide(first?.id ?? '', { decision: 'approve', trust: 'tool', by: 'ada' })
  expect(decided.alsoApproved).toEqual([second?.id])
  await session.resume()
  expect((await session.summary()).approval.trusted).toEqual(['pay'])
  const [wipe] = await open(1)
  await expect(approvals.decide(wipe?.id ?? '', { decision: 'approve', trust: 'tool' })).rejects.toThrow(
    'tool "delete_all" is asked about each time',
  )
  await approvals.decide(wipe?.id ?? '', { decision: 'approve' })
  expect(await result()).toMatchObject({ status: 'completed' })
  expect(paid.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3])
})

test('trust in a tool approves no open call of it about which somebody is asked each time', async () => {
  const { troupe, session, approvals, open } = await begin()
  await using _ = troupe
  const [first, second] = (await open(3)).filter(({ tool }) => tool === 'pay')
  await session.pause()
  // As after a person has changed its arguments.
  const key = askKey(troupe.tag, second?.id ?? '')
  const body = JSON.parse((await troupe.redis.hget(key, 'body')) ?? '')
  await troupe.redis.hset(key, 'body', JSON.stringify({ ...body, details: { ...body.details, eachTime: true } }))
  const decided = await approvals.decide(first?.id ?? '', { decision: 'approve', trust: 'tool' })
  expect([decided.alsoApproved, (await approvals.get(second?.id ?? '')).state]).toEqual([[], 'open'])
})

test('a decision that is sent again does not trust a tool once more, whose trust was taken back since', async () => {
  const { troupe, session, approvals, open } = await begin()
  await using _ = troupe
  const first = (await open(3)).find(({ tool }) => tool === 'pay')
  await session.pause()
  const decide = () => approvals.decide(first?.id ?? '', { decision: 'approve', trust: 'tool', idempotencyKey: 'one' })
  await decide()
  await session.setApproval('manual')
  await session.resume()
  const [wipe] = await open(1)
  await approvals.decide(wipe?.id ?? '', { decision: 'approve' })
  const [later] = await open(1)
  expect(await decide()).toMatchObject({ again: true, alsoApproved: [] })
  expect((await session.summary()).approval.trusted).toEqual([])
  expect(await approvals.get(later?.id ?? '')).toMatchObject({ tool: 'pay', state: 'open' })
})

test('the call runs with the arguments of the decision, which must fit the tool', async () => {
  const { troupe, paid, approvals, open, result } = await begin()
  await using _ = troupe
  const [first, ...others] = (await open(3)).toSorted((a, b) => (a.toolCallId < b.toolCallId ? -1 : 1))
  const decide = (args: unknown) => approvals.decide(first?.id ?? '', { decision: 'approve', arguments: args })
  await expect(decide({ cents: 'x' })).rejects.toMatchObject({ code: 'input_invalid' })
  await decide({ cents: 50 })
  for (const { id } of others) await approvals.decide(id, { decision: 'approve' })
  const [last] = await open(1)
  await approvals.decide(last?.id ?? '', { decision: 'approve' })
  expect(await result()).toMatchObject({ status: 'completed' })
  expect(paid.toSorted((a, b) => a - b)).toEqual([0, 2, 3, 50])
})

test('a decision that contradicts itself is refused', async () => {
  const { troupe, approvals, open } = await begin()
  await using _ = troupe
  await expect(approvals.list({ session: 'x' } as never)).rejects.toThrow(
    /^approvals\.list does not know the option "session"/,
  )
  const [one] = await open(3)
  const decide = (choice: object) => approvals.decide(one?.id ?? '', choice as never)
  await expect(decide({})).rejects.toThrow('decision of approvals.decide must be one of approve, deny')
  await expect(decide({ decision: 'approve', trust: 'all' })).rejects.toThrow('must be one of once, tool')
  await expect(decide({ decision: 'deny', trust: 'tool' })).rejects.toThrow('only with decision: "approve"')
  await expect(decide({ decision: 'deny', arguments: {} })).rejects.toThrow('only with decision: "approve"')
})
