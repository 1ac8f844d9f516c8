/** Requests that a busy provider refuses: no model answered, and they do not count (OPEN-REQUEST-2). */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { Model } from '../../../../src/core/definition/model.ts'
import { TransientError } from '../../../../src/core/errors.ts'
import { call, say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitIdle } from '../../../support/time/await-session.ts'

const busy = new TransientError('busy', { code: 'model_overloaded' })
const policy = { modelBackoffMs: 1 }

test('a request that a busy provider refuses uses up no model call of its session, in any of its agents', async () => {
  const model = recordedModel('test/m', [
    busy,
    call('spawn_workers', { tasks: [{ kind: 'helper', input: 'go' }] }),
    busy,
    say('done'),
  ])
  const helped = recordedModel('test/m', [busy, busy, busy, say('here')])
  const agent = defineWorker({ instructions: 'x', model, spawns: ['helper'] })
  const helper = defineWorker({ instructions: 'x', model: helped })
  await using troupe = await TestTroupe.start({ workers: { agent, helper }, policy })
  const session = await troupe.create('agent', 'one', { limits: { modelCalls: 3 } })
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'done' } })
  const { usage } = (await session.report()).session
  expect(usage).toMatchObject({ modelCalls: 3 })
  expect(usage).not.toHaveProperty('failedModelCalls')
  expect((await troupe.client.audit()).findings).toEqual([])
})

test('a run that a busy provider only ever refuses fails when its tries are used up', async () => {
  const model = recordedModel('test/m', () => busy)
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model }) },
    policy,
  })
  const session = await troupe.create('agent', 'one', { limits: { modelCalls: 1 } })
  expect(await session.result()).toMatchObject({ failure: { code: 'model_overloaded', attempt: 11 } })
  expect(model.requests).toHaveLength(11)
  expect((await session.report()).session.usage).toMatchObject({ modelCalls: 0 })
})

test('a request of which a provider named tokens before it was too busy counts', async () => {
  const model: Model = {
    id: 'test/m',
    async reply(_request, modelCall) {
      modelCall.onUsage?.({ inputTokens: 1_000, outputTokens: 0 })
      throw busy
    },
  }
  const agent = defineWorker({ instructions: 'x', model, retries: 3 })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy })
  const session = await troupe.create('agent', 'one', { limits: { modelCalls: 2 } })
  expect(await session.result()).toMatchObject({ failure: { code: 'budget_exceeded' } })
  expect((await session.report()).session.usage).toMatchObject({ failedModelCalls: 2, inputTokens: 2_000 })
})

test('a summary that a busy provider refuses uses up no model call', async () => {
  const writer = recordedModel('test/s', () => busy)
  const model = recordedModel('test/m', () => ({ ...say('fine'), usage: { inputTokens: 0, outputTokens: 0 } }))
  const agent = defineWorker({ instructions: 'x', model, compaction: { window: 100_000, model: writer } })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'one', { keepOpen: true })
  await session.root.send('two')
  await session.result({ run: 2 })
  await session.root.compact({ keepLast: 1 })
  await awaitIdle(session)
  expect(writer.requests).toHaveLength(1)
  const { usage } = (await session.report()).session
  expect(usage).toMatchObject({ modelCalls: 2 })
  expect(usage).not.toHaveProperty('failedModelCalls')
})
