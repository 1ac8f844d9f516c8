/** F12, K23: SIGTERM. Work is handed over at the next step, without a lease to wait for; a second signal gives it back at once. */
import { expect, test } from 'vitest'
import { rollingRow } from '../faults/rows/deaths.ts'
import { Harness, type NodeSettings } from '../support/harness.ts'
import { expectInvariants } from '../support/oracle.ts'
import { testRow } from '../support/row-tests.ts'
import { waitUntil } from '../support/wait-until.ts'

// Leases far longer than the test: whoever waits for one fails.
const longLeases: NodeSettings = { policy: { leaseMs: 120_000, renewEveryMs: 30_000, leaseMarginMs: 1_000 } }

test.concurrent('a node that is told to stop hands a chain of steps over between two of them', {
  timeout: 60_000,
}, async () => {
  await using harness = await Harness.open()
  const old = await harness.start('old', longLeases)
  const steps = 30
  const session = await harness.client.sessions.create({ kind: 'chain', input: { left: steps, ms: 100 } })
  await waitUntil('it has begun', () => harness.ledger.lines('link').length > 0)
  await harness.start('new', longLeases)
  const stopped = old.stop()
  await waitUntil('it drains', () => old.drainsSeen === 1)
  const before = harness.ledger.lines('link').length
  expect(await stopped).toBe(0)
  expect(await session.result({ signal: AbortSignal.timeout(20_000) })).toMatchObject({
    status: 'completed',
    value: steps,
  })
  const links = harness.ledger.lines('link')
  expect(links.map((line) => line.note)).toEqual(Array.from({ length: steps }, (_, index) => steps - index))
  // The step in hand ends there; each further one is the other node's.
  expect(before).toBeLessThan(steps)
  expect(links.slice(before + 1).every((line) => line.node === 'new')).toBe(true)
  await expectInvariants(harness.redis, harness.namespace)
})

test.concurrent('a second signal gives back what runs, at once', async () => {
  await using harness = await Harness.open()
  const old = await harness.start('old', longLeases)
  // Longer than it takes to start another node on a machine that has much to do, or the handler ends by itself.
  const session = await harness.client.sessions.create({ kind: 'slow', input: { ms: 10_000 } })
  await waitUntil('its handler runs', () => harness.ledger.lines('begun').length === 1)
  old.signal('SIGTERM')
  await waitUntil('it drains', () => old.drainsSeen === 1)
  await harness.start('new', longLeases)
  expect(old.isGone).toBe(false)
  expect(harness.ledger.lines('aborted')).toEqual([])
  old.signal('SIGTERM')
  await waitUntil('the other node has begun', () => harness.ledger.lines('begun').some((line) => line.node === 'new'))
  expect(await old.gone).toBe(0)
  expect(harness.ledger.lines('aborted').map((line) => line.node)).toEqual(['old'])
  expect(await session.result({ signal: AbortSignal.timeout(30_000) })).toMatchObject({ status: 'completed' })
  expect(harness.ledger.lines('done').map((line) => line.node)).toEqual(['new'])
  await expectInvariants(harness.redis, harness.namespace)
})

test.concurrent('a handler that does not end is given back after the drain time', async () => {
  await using harness = await Harness.open()
  const drainMs = 300
  const old = await harness.start('old', { policy: { ...longLeases.policy, drainMs } })
  const session = await harness.client.sessions.create({ kind: 'slow', input: { ms: 4_000, deaf: true } })
  await waitUntil('its handler runs', () => harness.ledger.lines('begun').length === 1)
  await harness.start('new', longLeases)
  expect(await old.stop()).toBe(0)
  expect(harness.ledger.lines('done')).toEqual([])
  expect(await session.result({ signal: AbortSignal.timeout(20_000) })).toMatchObject({ status: 'completed' })
  await expectInvariants(harness.redis, harness.namespace)
})

testRow(rollingRow)
