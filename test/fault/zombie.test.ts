/** F10, K13: a node is frozen for longer than its lease and comes back. What it then says is refused; one run is committed. */
import { expect, test } from 'vitest'
import { Harness } from '../support/harness.ts'
import { expectInvariants } from '../support/oracle.ts'
import { waitUntil } from '../support/wait-until.ts'

test('a frozen node loses its worker, and its late commit is refused (I5)', { timeout: 60_000 }, async () => {
  await using harness = await Harness.open()
  const zombie = await harness.start('zombie')
  const session = await harness.client.sessions.create({ kind: 'slow', input: { ms: 1_500, deaf: true } })
  await waitUntil('its handler runs', () => harness.ledger.lines('begun').length === 1)
  zombie.freeze()
  const heir = await harness.start('heir')
  expect(await session.result({ signal: AbortSignal.timeout(30_000) })).toMatchObject({ status: 'completed', run: 1 })
  expect(harness.ledger.lines('begun').map((line) => line.node)).toEqual(['zombie', 'heir'])
  zombie.thaw()
  // Deaf, it works on to its end, and then has nothing to say.
  await waitUntil('the zombie has worked to its end', () => harness.ledger.lines('done').length === 2)
  expect(harness.ledger.lines('aborted').map((line) => line.node)).toEqual(['zombie'])
  const history = await harness.history(session.rootId)
  expect(history.map(({ type, run, epoch }) => ({ type, run, epoch }))).toEqual([
    { type: 'received', run: 1, epoch: 2 },
    { type: 'completed', run: 1, epoch: 2 },
  ])
  // It is a good citizen again.
  await heir.kill()
  const next = await harness.client.sessions.create({ kind: 'echo', input: 'hello' })
  expect(await next.result({ signal: AbortSignal.timeout(20_000) })).toMatchObject({ value: 'hello' })
  await expectInvariants(harness.redis, harness.namespace)
})
