/** F47: nodes pack histories as soon as their workers rest, and are killed at random meanwhile, while the conversations go on. */
import assert from 'node:assert/strict'
import type { Session } from '../../../../src/client/session/session.ts'
import type { Entry } from '../../../../src/core/history/entry.ts'
import { partitionKeys, tagOf, workerKeys } from '../../../../src/store/keys.ts'
import type { Harness } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { sumOfHistory, type TalkPlan } from '../../../support/fault/talk.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import type { Row, Stage } from '../../row.ts'

const program = new URL('../../../programs/node/talk-node.ts', import.meta.url)
const policy = {
  leaseMs: 2_000,
  renewEveryMs: 500,
  leaseMarginMs: 300,
  sweepEveryMs: 50,
  // Everything that rests is packed at once, by all nodes that sweep.
  coldAfterMs: 0,
  coldEveryMs: 0,
}
const plan: TalkPlan = { rounds: 2, calls: 3, isSum: true }

export const packingRow: Row = {
  id: 'F47',
  promise: 'histories that are packed while nodes die and conversations go on hold all that was said (I1, I5, I16)',
  done: 'conversations that rest and go on while each sweep packs; SIGKILL to a node at a random moment; a trial is a kill',
  trials: ({ isLong }) => [{ name: 'packing', run: (stage) => packAndKill(stage, isLong ? 100 : 2) }],
}

async function packAndKill(stage: Stage, kills: number): Promise<number> {
  await using harness = await stage.open()
  let node = await harness.start('n0', { program, policy })
  await harness.start('stays', { program, policy })
  const talks = await Promise.all(Array.from({ length: 3 }, () => begin(harness)))
  let recorded = await Promise.all(talks.map(entriesOf))
  for (let kill = 1; kill <= kills; kill++) {
    const answers = Promise.all(talks.map((session) => say(session, kill + 1)))
    await new Promise((resolve) => setTimeout(resolve, stage.random() * 150))
    await node.kill()
    node = await harness.start(`n${kill}`, { program, policy })
    const said = await answers
    const now = await Promise.all(talks.map(entriesOf))
    for (const [index, entries] of now.entries()) {
      assert.deepEqual(entries.slice(0, recorded[index]?.length), recorded[index], 'what was recorded has changed')
      // What the model was sent.
      assert.equal(said[index], sumOfHistory(entries.slice(0, -2)), 'a turn did not know all of it')
    }
    recorded = now
  }
  await waitUntil('all of it is packed', async () => (await plainEntries(harness, talks)) <= talks.length)
  assert.deepEqual(await Promise.all(talks.map(entriesOf)), recorded)
  await expectInvariants(harness.redis, harness.namespace)
  return kills
}

async function begin({ client }: Harness): Promise<Session> {
  const session = await client.sessions.create({
    kind: 'talker',
    input: plan,
    keepOpen: true,
    limits: { modelCalls: 100_000 },
  })
  await answerOf(session, 1)
  return session
}

async function say(session: Session, run: number): Promise<string> {
  await session.root.send(plan)
  return answerOf(session, run)
}

async function answerOf(session: Session, run: number): Promise<string> {
  const result = await awaitResult(session, { run })
  assert.ok(result.status === 'completed', `run ${run} ended as ${JSON.stringify(result)}`)
  return (result.value as { text: string }).text
}

async function entriesOf(session: Session): Promise<Entry[]> {
  return (await session.root.history({ limit: 1_000_000 })).map(({ entry }) => entry)
}

/** How many entries stand as they were written. */
async function plainEntries({ redis, namespace }: Harness, talks: readonly Session[]): Promise<number> {
  const { tag } = partitionKeys(tagOf(namespace, 0))
  const lists = await Promise.all(talks.map(({ rootId }) => redis.lrange(workerKeys(tag, rootId).log, 0, -1)))
  return lists.flat().filter((element) => element.startsWith('{')).length
}
