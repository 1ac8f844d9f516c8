/** A reply that is dropped before it is recorded was paid for all the same. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { Model } from '../../../../src/core/definition/model.ts'
import { say } from '../../../../src/models/local/scripted-model.ts'
import { RedisTurnStore } from '../../../../src/store/turn/turn-store.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

test('a reply counts with its tokens if a cancel comes while the input that steers its run is read', async () => {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [reading, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const usage = { inputTokens: 1_000, outputTokens: 50 }
  const model: Model = {
    id: 'test/m',
    async reply() {
      asked.resolve()
      await answer.promise
      return { model: 'test/m', finishReason: 'stop', ...say('fine'), usage }
    },
  }
  // oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
  const { readInputs } = RedisTurnStore.prototype
  RedisTurnStore.prototype.readInputs = async function (this: RedisTurnStore, ...of) {
    reading.resolve()
    await held.promise
    return readInputs.apply(this, of)
  }
  try {
    await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'x', model }) } })
    const session = await troupe.create('agent', 'one', { keepOpen: true })
    await asked.promise
    await session.root.send('two', { when: 'steer' })
    await waitUntil('the run knows of it', async () => (await session.root.report()).mailbox.pending === 1)
    answer.resolve()
    await reading.promise
    await session.root.cancelRun()
    expect(await awaitResult(session, { run: 1 })).toMatchObject({ status: 'cancelled' })
    // The input begins a run of its own now.
    expect(await awaitResult(session, { run: 2 })).toMatchObject({ status: 'completed' })
    const expected = { modelCalls: 1, failedModelCalls: 1, inputTokens: 2_000, outputTokens: 100 }
    expect((await session.report()).session.usage).toMatchObject(expected)
  } finally {
    held.resolve()
    RedisTurnStore.prototype.readInputs = readInputs
  }
})
