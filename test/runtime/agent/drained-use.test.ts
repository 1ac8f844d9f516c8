/** Model calls that nobody will answer any more because their node drains: they count, wherever the run goes on. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { say } from '../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

test('a model call that is broken off when the drain time of its node is over counts as one that failed', async () => {
  const asked = Promise.withResolvers<void>()
  const model = recordedModel('test/m', (_request, number) => {
    asked.resolve()
    return number === 1 ? new Promise<Error>(() => {}) : say('Done.')
  })
  const agent = defineWorker({ instructions: 'x', model })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { drainMs: 1 } })
  const session = await troupe.create('agent')
  await asked.promise
  await troupe.nodes[0]?.stop()
  expect((await session.root.report()).usage).toMatchObject({ modelCalls: 0, failedModelCalls: 1 })
  await troupe.startNode({ agent })
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
  expect((await session.report()).session.usage).toMatchObject({ modelCalls: 1, failedModelCalls: 1 })
  expect((await troupe.client.audit({ sessionId: session.id })).findings).toEqual([])
})
