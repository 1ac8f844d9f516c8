/** A conversation, a message and a result have limits, and what is beyond them is said in one sentence. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { policy } from '../../../../src/core/policy.ts'
import { call, say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { tool } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitResult } from '../../../support/time/await-session.ts'

test('a conversation warns once when it is long, and takes nothing more once it is full [1.35]', async () => {
  const model = recordedModel('test/m', () => say('reply'))
  const agent = defineWorker({ instructions: 'x', model })
  const limits = { historyWarnMessages: 2, historyMessagesMax: 6 }
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: limits })
  const session = await troupe.create('agent', 'text', { keepOpen: true })
  for (let run = 1; run <= 3; run++) {
    expect(await awaitResult(session, { run })).toMatchObject({ status: 'completed' })
    await session.root.send('text')
  }
  const full = {
    status: 'failed',
    failure: { code: 'history_full', message: expect.stringMatching(/has 6 messages, and may have 6/) },
  }
  expect(await awaitResult(session, { run: 4 })).toMatchObject(full)
  await session.root.send('text')
  expect(await awaitResult(session, { run: 5 })).toMatchObject(full)
  expect(model.requests).toHaveLength(3)
  const context = await session.root.context()
  expect(context.history.length).toBe(6)
  const warnings: string[] = []
  for await (const event of session.events({ after: '0-0', follow: false }))
    if (event.type === 'run.warned') warnings.push(event.details.warning)
  expect(warnings).toEqual([expect.stringMatching(/has 2 messages; at 6 it takes no more/)])
  expect((await troupe.client.audit({ sessionId: session.id })).findings).toEqual([])
})

test('a run stops before the next model call once its conversation is full [1.35]', async () => {
  const model = recordedModel('test/m', () => call('look'))
  const agent = defineWorker({ instructions: 'x', model, tools: [tool('look', () => 'seen')] })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { historyMessagesMax: 4 } })
  const result = await troupe.run('agent', 'text')
  expect(result).toMatchObject({ status: 'failed', failure: { code: 'history_full' } })
  expect(model.requests).toHaveLength(2)
})

test('a message that is too long is refused, and a result that is too long is cut with a note [1.35]', async () => {
  const agent = defineWorker({
    instructions: 'x',
    model: recordedModel('test/m', ({ messages }) => (messages.at(-1)?.role === 'tool' ? say('done') : call('look'))),
    tools: [tool('look', () => 'x'.repeat(2 * policy.toolOutputBytesMax))],
  })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const tooLong = 'x'.repeat(policy.messageBytesMax + 1)
  await expect(troupe.create('agent', tooLong)).rejects.toMatchObject({ code: 'message_too_big' })
  const session = await troupe.create('agent', 'text')
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  const result = (await troupe.history(session.rootId)).find(({ type }) => type === 'toolResult')
  expect(JSON.stringify(result).length).toBeLessThan(policy.toolOutputBytesMax + 1_000)
})
