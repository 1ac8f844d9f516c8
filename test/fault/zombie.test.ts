/** F10, K13: nodes that stand still for longer than their leases, and those whose work an operator releases before. */
import { expect, test, vi } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'
import { zombieRow } from '../faults/rows/node/zombie.ts'
import { Harness } from '../support/fault/harness.ts'
import { testRow } from '../support/fault/row-tests.ts'
import { awaitResult } from '../support/time/await-session.ts'
import { waitUntil } from '../support/time/wait-until.ts'

testRow(zombieRow)

async function command(harness: Harness, ...args: string[]): Promise<string> {
  const out: string[] = []
  using _out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0)
  await runCommandLine([...args, '--redis-url', harness.redisUrl, '--namespace', harness.namespace])
  return out.join('')
}

test('an operator releases the work of a node that stands still, long before its leases end', async () => {
  await using harness = await Harness.open()
  const long = { policy: { leaseMs: 600_000 } }
  const zombie = await harness.start('zombie', long)
  const session = await harness.client.sessions.create({ kind: 'slow', input: { ms: 3_000, deaf: true } })
  await waitUntil('its handler runs', () => harness.ledger.lines('begun').length === 1)
  const node = harness.client.node(await zombie.ready)
  await expect(node.release()).rejects.toMatchObject({ code: 'transition_illegal' })
  await expect(harness.client.node('nobody').release()).rejects.toMatchObject({ code: 'node_not_found' })
  zombie.freeze()
  await harness.start('heir', long)
  await waitUntil('it is silent', async () => (await node.report()).lastSeenMs >= 5_000)
  expect((await node.report()).workers).toMatchObject([{ sessionId: session.id, holdup: { reason: 'lease' } }])
  const said = await command(harness, 'node', 'release', node.id, '--by', 'ada', '--reason', 'it "hangs"', '--json')
  expect(JSON.parse(said)).toMatchObject({ type: 'nodeReleased', id: node.id, pid: zombie.pid, released: 1 })
  await waitUntil('the heir has it', () => harness.ledger.lines('begun').length === 2)
  const { workers } = await session.report()
  expect(workers[0]).toMatchObject({
    starts: 2,
    lastWords: expect.stringMatching(/silent for \d+ s, and ada released its work: it 'hangs'$/),
  })
  await expect(node.report()).rejects.toMatchObject({ code: 'node_not_found' })
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  zombie.thaw()
  await waitUntil('the zombie has worked to its end', () => harness.ledger.lines('done').length === 2)
  const history = await harness.history(session.rootId)
  expect(history.map(({ type, epoch }) => [type, epoch])).toEqual([
    ['received', 2],
    ['completed', 2],
  ])
  const reports = async () => (await harness.client.nodes()).some(({ id }) => id === node.id)
  await waitUntil('it reports again', reports)
})
