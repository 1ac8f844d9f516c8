/** F45: everything at once, for as long as one likes; afterwards everything is as it was. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { policy } from '../../../src/core/policy.ts'
import { type TreeInput, treeResult } from '../../programs/node/fault-kinds.ts'
import type { Harness, NodeProcess } from '../../support/fault/harness.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import type { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import type { Row, Stage } from '../row.ts'

const tree: TreeInput = { children: 5, steps: 3, stepMs: 100 }
const names = ['a', 'b', 'c']

export const soakRow: Row = {
  id: 'F45',
  promise: 'after a long time of mixed faults nothing is lost and no key is left behind',
  done: 'kills, freezes, cut networks, Redis killed, for --minutes; every five minutes all is at rest, checked and pruned',
  isEndless: true,
  trials: ({ minutes = 1 }) =>
    Array.from({ length: Math.ceil(minutes / 5) }, (_, index) => ({
      name: `part ${index + 1}`,
      run: (stage: Stage) => soak(stage, Math.min(5, minutes - 5 * index)),
    })),
}

interface Scene {
  readonly harness: Harness
  readonly proxy: TcpProxy
  readonly nodes: NodeProcess[]
}

async function soak(stage: Stage, minutes: number): Promise<number> {
  await using harness = await stage.open({ ownRedis: {} })
  const proxy = await harness.proxy()
  const nodes = await Promise.all(names.map((name) => harness.start(name, { proxy })))
  const scene = { harness, proxy, nodes }
  const keysAtRest = await keyCount(harness)
  const endsAt = performance.now() + minutes * 60_000
  const results: Promise<unknown>[] = []
  let faults = 0
  while (performance.now() < endsAt) {
    for (let number = 0; number < 3; number++) {
      const session = await harness.client.sessions.create({ kind: 'tree', input: tree })
      const result = session.result({ signal: AbortSignal.timeout(minutes * 60_000 + 120_000) })
      result.catch(() => {})
      results.push(result)
    }
    await pause(500 * stage.random())
    await harm(stage, scene)
    faults++
  }
  for (const result of await Promise.all(results))
    assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) })
  const { dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.equal(dead.length, 0)
  await harness.client.sessions.prune({ olderThanMs: 0 })
  // Nodes that were killed are forgotten by the others after a while. What assignments, events and counts of the living need stays.
  const isTidy = async () => (await keyCount(harness)) <= keysAtRest + 10
  await waitUntil(`no more than ${keysAtRest + 10} keys are left`, isTidy, policy.nodeForgottenMs + 30_000)
  stage.say(`${faults} faults, ${results.length} trees; ${keysAtRest} keys before, ${await keyCount(harness)} after`)
  await Promise.all(nodes.map((node) => node.stop()))
  return faults
}

async function harm({ random }: Stage, { harness, proxy, nodes }: Scene): Promise<void> {
  const place = Math.floor(random() * nodes.length)
  const node = nodes[place] as NodeProcess
  const chance = random()
  if (chance < 0.4) {
    await node.kill()
    nodes[place] = await harness.start(names[place] as string, { proxy })
  } else if (chance < 0.6) {
    node.freeze()
    await pause(2_000 * random())
    node.thaw()
  } else if (chance < 0.9) {
    proxy[(['cut', 'blackhole', 'cutReplies'] as const)[Math.floor(3 * random())] ?? 'cut']()
    await pause(500 * random())
    proxy.mend()
  } else {
    await harness.killRedis()
    await pause(500 * random())
    await harness.restartRedis()
  }
}

/** Keys of ours that last: those with a time to live go by themselves. */
async function keyCount({ redis, tag }: Harness): Promise<number> {
  let count = 0
  for await (const page of redis.scanStream({ match: `${tag}:*`, count: 1_000 })) {
    for (const key of page as string[]) if (!key.startsWith(`${tag}:q:`) && (await redis.pttl(key)) < 0) count++
  }
  return count
}
