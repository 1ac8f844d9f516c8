/** An order that a node has not carried out yet is work, though no message of it waits in a mailbox. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { say } from '../../src/models/local/scripted-model.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'

test('a worker whose node stops while it writes the summary that somebody ordered is queued with an order, and that is no fault', async () => {
  const asked = Promise.withResolvers<void>()
  const model = recordedModel('test/m', (_request, number) => {
    if (number < 4) return say(`Answer ${number}.`)
    asked.resolve()
    return new Promise<Error>(() => {})
  })
  const agent = defineWorker({ instructions: 'x', model, compaction: { keep: 2 } })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { drainMs: 1 } })
  const session = await troupe.create('agent', 'one', { keepOpen: true })
  await session.result({ run: 1 })
  for (const run of [2, 3]) {
    await session.root.send('more')
    await session.result({ run })
  }
  // No node is left to carry it out.
  session.root.compact().catch(() => {})
  await asked.promise
  await troupe.nodes[0]?.stop()
  expect(await troupe.redis.hget(`${troupe.tag}:w:${session.rootId}`, 'status')).toBe('queued')
  expect((await troupe.client.audit({ sessionId: session.id })).findings).toEqual([])
})
