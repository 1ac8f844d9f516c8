/** F22: the network between nodes and Redis is bad. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import type { TcpProxy } from '../../../support/redis/tcp-proxy.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { type Row, type Stage, type Trial, trial } from '../../row.ts'

const tree: TreeInput = { children: 4, steps: 3, stepMs: 100 }
const moments = ['cut', 'blackhole', 'cutReplies'] as const

export const networkRow: Row = {
  id: 'F22',
  promise: 'a bad network between nodes and Redis loses and doubles nothing (I1 to I7)',
  done: 'cut, half-open and deaf for moments; replies 300 ms late (5 s in the long form); 1 % of replies reset their connection',
  atOnce: 3,
  trials: ({ isLong }) => [
    forMoments(isLong ? 60 : 10),
    ...(isLong ? [300, 5_000] : [300]).map(late),
    resets(isLong ? 200 : 20),
  ],
}

function forMoments(rounds: number): Trial {
  return {
    name: `${rounds} moments`,
    async run(stage) {
      await underTrouble(stage, rounds, async (proxy) => {
        await pause(200 * stage.random())
        proxy[moments[Math.floor(moments.length * stage.random())] ?? 'cut']()
        await pause(300 * stage.random())
        proxy.mend()
      })
      return rounds
    },
  }
}

function late(ms: number): Trial {
  return trial(`replies ${ms} ms late`, (stage) =>
    underTrouble(stage, 3, async (proxy) => proxy.delay(ms), {
      leaseMs: 15_000,
      renewEveryMs: 3_000,
      leaseMarginMs: 1_000,
    }),
  )
}

function resets(rounds: number): Trial {
  return trial('1 % resets', (stage) =>
    underTrouble(stage, rounds, async (proxy) => {
      proxy.resetWhen(() => stage.random() < 0.01)
      await pause(50)
    }),
  )
}

async function underTrouble(stage: Stage, rounds: number, trouble: (proxy: TcpProxy) => Promise<void>, policy = {}) {
  await using harness = await stage.open()
  const proxy = await harness.proxy()
  await harness.start('a', { proxy, policy })
  const results: Promise<unknown>[] = []
  for (let round = 0; round < rounds; round++) {
    const session = await harness.client.sessions.create({ kind: 'tree', input: tree })
    const result = awaitResult(session, { msMax: 180_000 })
    result.catch(() => {})
    results.push(result)
    await trouble(proxy)
  }
  for (const result of await Promise.all(results))
    assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) })
  await expectInvariants(harness.redis, harness.namespace)
}
