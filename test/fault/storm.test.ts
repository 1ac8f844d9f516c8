/** F01: nodes are killed at random while many trees of workers run; everything ends, once, with the right result. */
import { expect, test } from 'vitest'
import { type TreeInput, treeResult } from '../programs/fault-kinds.ts'
import { isLong, withSeed } from '../support/fault-settings.ts'
import { Harness } from '../support/harness.ts'
import { expectInvariants } from '../support/oracle.ts'
import { waitUntil } from '../support/wait-until.ts'

const names = ['a', 'b', 'c', 'd']
const sessions = isLong ? 500 : 60
const stormMs = isLong ? 60_000 : 10_000
const tree: TreeInput = { children: 10, steps: 4, stepMs: 100 }

test(
  'every session ends once with the right result while nodes are killed at random (F01, I1-I9)',
  { timeout: stormMs + 120_000 },
  () =>
    withSeed(async (random) => {
      await using harness = await Harness.open()
      const nodes = await Promise.all(names.map((name) => harness.start(name)))
      const endsAt = Date.now() + stormMs
      const submitEveryMs = (stormMs * 0.8) / sessions

      const submitted = (async () => {
        const results: Promise<unknown>[] = []
        for (let number = 0; number < sessions; number++) {
          const session = await harness.client.sessions.create({
            kind: 'tree',
            input: tree,
            idempotencyKey: `tree ${number}`,
          })
          results.push(session.result({ signal: AbortSignal.timeout(stormMs + 60_000) }))
          await new Promise((resolve) => setTimeout(resolve, submitEveryMs))
        }
        return results
      })()

      let kills = 0
      while (Date.now() < endsAt) {
        await new Promise((resolve) => setTimeout(resolve, 600 + 800 * random()))
        const victim = Math.floor(random() * nodes.length)
        await nodes[victim]?.kill()
        kills++
        nodes[victim] = await harness.start(names[victim] as string)
      }

      for (const result of await Promise.all(await submitted)) {
        expect(result).toMatchObject({ status: 'completed', value: treeResult(tree) })
      }
      expect(kills).toBeGreaterThan(stormMs / 4_000)
      expect(new Set(harness.ledger.lines().map((line) => line.node))).toEqual(new Set(names))
      const rest = await expectInvariants(harness.redis, harness.namespace, 20_000)
      expect(rest.dead).toEqual([])
      expect(rest.workers.size).toBe(sessions * (tree.children + 1))
      for (const { record } of rest.workers.values()) expect(record).toMatchObject({ state: 'idle', run: '2' })
      await waitUntil('no timer is left', async () => (await harness.redis.zcard(`${harness.tag}:timers`)) === 0)
    }),
)
