/** audit on a system that is at work, while its nodes are killed: it finds nothing, and every message is accounted for (I16). */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Counts } from '../../src/audit/counts.ts'
import { type TreeInput, treeResult } from '../programs/node/fault-kinds.ts'
import { isLong, withSeed } from '../support/fault/fault-settings.ts'
import { Harness } from '../support/fault/harness.ts'
import { auditLines, auditOf } from '../support/fault/oracle.ts'

const lastsMs = isLong ? 60_000 : 5_000
const tree: TreeInput = { children: 5, steps: 3, stepMs: 50 }
/** More workers than one picture holds. */
const large: TreeInput = { children: 260, steps: 1, stepMs: 200 }

test('audit gives no finding while work goes on and nodes are killed', { timeout: lastsMs + 400_000 }, () =>
  withSeed(async (random) => {
    await using harness = await Harness.open()
    const nodes = await Promise.all(['a', 'b'].map((name) => harness.start(name)))
    const endsAt = Date.now() + lastsMs
    const { sessions } = harness.client
    const limits = { children: 300, workers: 300 }
    const results = [(await sessions.create({ kind: 'tree', input: large, limits })).result()]
    const submitting = (async () => {
      const chat = await sessions.create({ kind: 'echo', input: 0, keepOpen: true })
      for (let number = 0; Date.now() < endsAt; number++) {
        const session = await sessions.create({ kind: 'tree', input: tree })
        if (number % 4 === 3) await session.cancel('enough')
        else results.push(session.result())
        await chat.root.send(number)
        await pause(40 * random())
      }
    })()
    const killing = (async () => {
      while (Date.now() < endsAt) {
        await pause(500 + 700 * random())
        const victim = Math.floor(random() * nodes.length)
        await nodes[victim]?.kill()
        nodes[victim] = await harness.start(`n${victim}`)
      }
    })()
    const seen: Counts['all'][] = []
    const lines: string[] = []
    while (Date.now() < endsAt || seen.length < 2) {
      const { counts, findings } = await auditOf(harness.redis, harness.namespace)
      seen.push(counts.all)
      lines.push(...findings.map((finding) => JSON.stringify(finding)))
    }
    await Promise.all([submitting, killing])
    expect(lines).toEqual([])
    for (const { accepted, ...ends } of seen)
      expect(Object.values(ends).reduce((sum, count) => sum + count, 0)).toBe(accepted)
    expect(Math.max(...seen.map(({ active, waiting }) => active + waiting))).toBeGreaterThan(0)
    const [first, ...others] = await Promise.all(results)
    expect(first).toMatchObject({ status: 'completed', value: treeResult(large) })
    for (const result of others) expect(result).toMatchObject({ status: 'completed', value: treeResult(tree) })
    expect(await auditLines(harness.redis, harness.namespace)).toEqual([])
  }),
)
