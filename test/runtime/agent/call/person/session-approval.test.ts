/** The policy of a session decides about calls of all its agents, also while they run. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { awaitResult } from '../../../../support/time/await-session.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

function paying(ran: string[], during: () => Promise<unknown> = () => Promise.resolve()) {
  const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'once', run: () => void ran.push('pay') })
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effect: 'pure',
    run: async () => {
      await during()
      ran.push('look')
    },
  })
  // The start of this tool is recorded before it runs, and so before the model asks to pay.
  const stamp = defineTool({
    name: 'stamp',
    description: 'Stamps.',
    effect: 'once',
    approval: 'never',
    run: () => null,
  })
  const model = recordedModel('test/m', [call('look'), call('stamp'), call('pay'), say('done')])
  return defineWorker({ instructions: 'x', model, tools: [pay, look, stamp] })
}

test.each([
  ['auto', ['look', 'pay']],
  ['readOnly', ['look']],
] as const)('a session that is %s runs %j, and asks nobody', async (approval, expected) => {
  const ran: string[] = []
  await using troupe = await TestTroupe.start({ workers: { agent: paying(ran) } })
  const session = await troupe.client.sessions.create({ kind: 'agent', input: 'go', approval })
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  expect(ran).toEqual(expected)
})

test('a policy that is set while an agent runs holds from its next commit on', async () => {
  const ran: string[] = []
  let set = () => Promise.resolve<unknown>(undefined)
  await using troupe = await TestTroupe.start({ workers: { agent: paying(ran, () => set()) } })
  const [begin, ready] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  set = async () => {
    begin.resolve()
    await ready.promise
  }
  const session = await troupe.client.sessions.create({ kind: 'agent', input: 'go', approval: 'auto' })
  await begin.promise
  await session.setApproval('readOnly')
  ready.resolve()
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  expect(ran).toEqual(['look'])
})

test('a call that needs no approval any more, before anybody was asked, runs, and its worker does not seem to wait for one', async () => {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const states: string[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    effect: 'once',
    run: async () => void states.push((await session.root.report()).run),
  })
  const model = recordedModel('test/m', async (_request, number) => {
    if (number > 1) return say('done')
    asked.resolve()
    await gate.promise
    return call('pay')
  })
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [pay] }) },
  })
  const session = await troupe.create('agent', 'go')
  await asked.promise
  await session.pause()
  gate.resolve()
  await waitUntil('the reply is recorded', async () => (await session.root.report()).run === 'AwaitingToolApproval')
  await session.setApproval('auto')
  await session.resume()
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  expect(states).toEqual(['ExecutingTools'])
})
