/** K2, K5, F05: work is stored, but its wake-up was never sent, so that no BullMQ job exists. A sweep runs it when the wake-up is stale. */
import { describe, expect, test } from 'vitest'
import { policy } from '../../src/core/policy.ts'
import { Harness } from '../support/fault/harness.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { awaitResult } from '../support/time/await-session.ts'

const silent = { waker: { wake() {} } }

describe('work whose wake-up was never sent', () => {
  test('a sweep runs work whose wake-up was never sent', async () => {
    await using harness = await Harness.open({ client: silent })
    // The pool is known, but no node is there to which a wake-up could be published.
    await (await harness.start('first')).stop()
    const sessions = await Promise.all(
      Array.from({ length: 20 }, (_, number) => harness.client.sessions.create({ kind: 'echo', input: number })),
    )
    await harness.start('a', { policy: { sweepEveryMs: policy.sweepEveryMs } })
    for (const [number, session] of sessions.entries())
      expect(await awaitResult(session)).toMatchObject({ value: number })
    await expectInvariants(harness.redis, harness.namespace)
  })

  test('a sweep runs a child even if the node that spawned it died before it sent the wake-up', async () => {
    await using harness = await Harness.open()
    const node = await harness.start('a')
    const session = await harness.client.sessions.create({
      kind: 'tree',
      input: { children: 10, steps: 1, stepMs: 200 },
    })
    while (harness.ledger.lines('root').length === 0) await new Promise((resolve) => setImmediate(resolve))
    await node.kill()
    await harness.start('b')
    expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    await expectInvariants(harness.redis, harness.namespace)
  })
})
