/** The last failure of a handler, in a run that goes on: it is gone once what failed has succeeded, or the next run has begun. */
import { expect, test } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** Longer than a test takes. */
const hourMs = 3_600_000

/** Once so many messages stand in its history, and it rests: the last failure. */
async function lastFailureAfter(troupe: TestTroupe, { root, rootId }: Session, messages: number) {
  const report = await waitUntil(`it has received ${messages} messages and rests`, async () => {
    const received = (await troupe.history(rootId)).filter(({ type }) => type === 'received')
    const found = await root.report()
    return received.length === messages && found.status === 'parked' && found
  })
  return report.lastFailure
}

test('the last failure is gone once the next attempt has succeeded, in a run that goes on', async () => {
  const flaky = defineWorker({
    receive(message, self) {
      if (message.kind === 'timer' && self.attempt === 1) throw new TransientError('not yet', { retryAfterMs: 1 })
      self.after(message.kind === 'input' ? 0 : hourMs, 'tick')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { flaky } })
  expect(await lastFailureAfter(troupe, await troupe.create('flaky'), 2)).toBeNull()
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('the last failure is gone once the next run has begun, in a turn that goes on [1.5]', async () => {
  const moody = defineWorker({
    receive: (message, self) => (message.value === 'fail' ? self.fail('bad mood') : self.after(hourMs, 'tick')),
  })
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('moody', 'fail', { keepOpen: true })
  await session.root.send('go on')
  await troupe.startNode({ moody })
  expect(await lastFailureAfter(troupe, session, 2)).toBeNull()
  expect(await session.result({ run: 1 })).toMatchObject({ failure: { message: 'bad mood' } })
  await expectInvariants(troupe.redis, troupe.namespace)
})
