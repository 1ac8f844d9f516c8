/** F12, K23: SIGTERM. Work is handed over at the next step, without a lease to wait for; a second signal gives it back at once. */
import { expect, test } from 'vitest'
import { rollingRow } from '../faults/rows/node/deaths.ts'
import { Harness, type NodeProcess, type NodeSettings } from '../support/fault/harness.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { testRow } from '../support/fault/row-tests.ts'
import { awaitResult } from '../support/time/await-session.ts'
import { waitUntil } from '../support/time/wait-until.ts'

// Leases far longer than the test: whoever waits for one fails.
const longLeases: NodeSettings = { policy: { leaseMs: 600_000, renewEveryMs: 200_000, leaseMarginMs: 1_000 } }

/** Two nodes, of which one runs the session by now: no node has to start before that ends. */
async function running(harness: Harness, kind: string, input: unknown, first: string, settings = longLeases) {
  const nodes = await Promise.all(['a', 'b'].map((name) => harness.start(name, settings)))
  const session = await harness.client.sessions.create({ kind, input })
  const begun = await waitUntil('it has begun', () => harness.ledger.lines(first)[0])
  const [old, other] = nodes.toSorted((one) => (one.name === begun.node ? -1 : 1)) as [NodeProcess, NodeProcess]
  return { session, old, other }
}

test.concurrent('a node that drains passes a chain of steps on between two steps', async () => {
  await using harness = await Harness.open()
  const steps = 30
  const { session, old, other } = await running(harness, 'chain', { left: steps, ms: 200 }, 'link')
  const stopped = old.stop()
  await waitUntil('it drains', () => old.drainsSeen === 1)
  const before = harness.ledger.lines('link').length
  expect(await stopped).toBe(0)
  expect(await awaitResult(session)).toMatchObject({
    status: 'completed',
    value: steps,
  })
  const links = harness.ledger.lines('link')
  expect(links.map((line) => line.note)).toEqual(Array.from({ length: steps }, (_, index) => steps - index))
  // The step in hand ends there; each further one is the other node's.
  expect(before).toBeLessThan(steps)
  expect(links.slice(before + 1).every((line) => line.node === other.name)).toBe(true)
  await expectInvariants(harness.redis, harness.namespace)
})

test.concurrent('a second signal releases the running turns at once', async () => {
  await using harness = await Harness.open()
  // Longer than a busy machine takes for two signals, or the handler ends by itself.
  const { session, old, other } = await running(harness, 'slow', { ms: 10_000 }, 'begun')
  old.signal('SIGTERM')
  await waitUntil('it drains', () => old.drainsSeen === 1)
  expect(old.isGone).toBe(false)
  expect(harness.ledger.lines('aborted')).toEqual([])
  old.signal('SIGTERM')
  const isTakenOver = () => harness.ledger.lines('begun').some((line) => line.node === other.name)
  await waitUntil('the other node has begun', isTakenOver)
  expect(await old.gone).toBe(0)
  expect(harness.ledger.lines('aborted').map((line) => line.node)).toEqual([old.name])
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  expect(harness.ledger.lines('done').map((line) => line.node)).toEqual([other.name])
  await expectInvariants(harness.redis, harness.namespace)
})

test.concurrent('a handler that does not end is released after the drain time', async () => {
  await using harness = await Harness.open()
  const settings = { policy: { ...longLeases.policy, drainMs: 300 } }
  const { session, old } = await running(harness, 'slow', { ms: 6_000, deaf: true }, 'begun', settings)
  expect(await old.stop()).toBe(0)
  expect(harness.ledger.lines('done')).toEqual([])
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  await expectInvariants(harness.redis, harness.namespace)
})

testRow(rollingRow)
