/** A retry right after a run has failed, while the turn of that run has not ended yet. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import { say } from '../../../src/models/local/scripted-model.ts'
import { RedisTurnStore } from '../../../src/store/turn/turn-store.ts'
import { Place } from '../../store/support/place.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'

test('a session whose run has failed is retried as soon as the turn of that run has ended', async () => {
  const model = recordedModel('test/m', [new TerminalError('no credit', { code: 'model_refused' }), say('done')])
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('agent', 'go')
  // After a start that recorded nothing, the end of a run is recorded before that of its turn (TURN-5). Nobody gets the wake-ups of this node.
  await using place = await Place.open({ namespace: troupe.namespace, policy: { wakeupMs: 1 } })
  const lost = place.node({ kinds: { default: ['agent'] } })
  await lost.sweep()
  await place.expireLease((await lost.claim()).worker)
  await lost.sweep()
  const held = Promise.withResolvers<void>()
  // oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
  const { commit } = RedisTurnStore.prototype
  RedisTurnStore.prototype.commit = async function (this: RedisTurnStore, request) {
    if (request.end && request.outcome === undefined) await held.promise
    return commit.call(this, request)
  }
  try {
    const agent = defineWorker({ instructions: 'x', model, retries: 0 })
    await troupe.startNode({ agent })
    expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
    expect(await session.retryOutlook()).toEqual({ kind: 'step', run: 1, step: 'model call 1' })
    const retrying = session.retry()
    held.resolve()
    expect(await retrying).toEqual({ run: 1, step: 'model call 1' })
  } finally {
    held.resolve()
    RedisTurnStore.prototype.commit = commit
  }
  expect(await awaitResult(session)).toMatchObject({ value: { text: 'done' } })
  expect((await troupe.client.audit()).findings).toEqual([])
})
