/**
 * audit: a system that is whole gives no finding, and accounts for every message; whatever is taken out of it, doubled or forged by
 * hand is found, with the invariant it breaks and the worker or session it is of.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditReport } from '../../src/audit/audit.ts'
import { partitionKeys, sessionKeys, workerKeys } from '../../src/store/keys.ts'
import { askSeeds } from '../client/support/audit-ask-seeds.ts'
import { keySeeds } from '../client/support/audit-key-seeds.ts'
import { rareSeeds } from '../client/support/audit-rare-seeds.ts'
import { type Cast, play, workers } from '../client/support/audit-scenes.ts'
import { seeds as usualSeeds } from '../client/support/audit-seeds.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const seeds = [...usualSeeds, ...rareSeeds, ...keySeeds, ...askSeeds]

let troupe: TestTroupe
let whole: AuditReport
let after: AuditReport
const casts: Cast[] = []
const others: Cast[] = []

beforeAll(async () => {
  troupe = await TestTroupe.connect()
  const node = await troupe.startNode(workers)
  casts.push(...(await Promise.all(seeds.map(({ scene }) => play(troupe, scene)))))
  const scenes = [...new Set(seeds.map(({ scene }) => scene))]
  others.push(...(await Promise.all(scenes.map((scene) => play(troupe, scene)))))
  // Sweeps and nodes must not heal the damage before the audit sees it.
  await node.stop()
  whole = await troupe.client.audit()
  for (const [index, { tamper }] of seeds.entries()) {
    const cast = casts[index] as Cast
    await tamper({
      redis: troupe.redis,
      cast,
      keys: partitionKeys(troupe.tag),
      of: (worker) => workerKeys(troupe.tag, worker),
      own: sessionKeys(troupe.tag, cast.session.id),
    })
  }
  after = await troupe.client.audit()
})
afterAll(() => troupe[Symbol.asyncDispose]())

/** The findings about this session, or about its workers. */
function foundIn({ session, root, first, second }: Cast, { findings }: AuditReport) {
  return findings.filter(
    ({ sessionId, workerId, what }) =>
      sessionId === session.id || [root, first, second].includes(workerId ?? '') || what.includes(session.id),
  )
}

describe('a system that is whole', () => {
  test('the audit of a whole system gives no finding, also session by session', async () => {
    expect(whole.findings).toEqual([])
    for (const { session } of others)
      expect(await troupe.client.audit({ sessionId: session.id })).toMatchObject({ findings: [], sessions: 1 })
  })

  test('the audit of a whole system accounts for every message', () => {
    for (const { accepted, ...ends } of Object.values(whole.counts))
      expect(Object.values(ends).reduce((sum, count) => sum + count, 0)).toBe(accepted)
    const { inputs, results, signals } = whole.counts
    expect(Math.min(inputs.completed, inputs.failed, inputs.cancelled, inputs.waiting, inputs.active)).toBeGreaterThan(
      0,
    )
    expect(results).toMatchObject({ failed: 0, dead: 0 })
    expect(results.waiting).toBeGreaterThan(0)
    // The scene is played twice, with one answer each time.
    expect(signals).toMatchObject({ accepted: 2, completed: 2 })
  })
})

describe('if somebody tampers with stored data, the audit names', () => {
  test.each(seeds.map((seed, index) => ({ ...seed, index })))(
    '$what ($invariant)',
    ({ index, invariant, names, words }) => {
      const cast = casts[index] as Cast
      const { id } = cast.session
      const named = {
        session: [id, null],
        root: [null, cast.root],
        first: [id, cast.first],
        second: [id, cast.second],
        orphan: [null, cast.first],
      }[names]
      const found = foundIn(cast, after)
      const lines = found.map((one) => `${one.invariant} ${one.sessionId} ${one.workerId}: ${one.what}`)
      const isNamed = ({ sessionId, workerId }: (typeof found)[number]) =>
        (named[0] === null || named[0] === sessionId) && named[1] === workerId
      const hit = found.some((one) => one.invariant === invariant && words.test(one.what) && isNamed(one))
      expect(hit ? [] : lines.length > 0 ? lines : ['nothing']).toEqual([])
    },
  )

  test('tampering with one part names nothing of the others', () => {
    expect(others.flatMap((cast) => foundIn(cast, after))).toEqual([])
  })
})

test('the audit counts what pruning removed before it', async () => {
  await using pruned = await TestTroupe.start({ workers })
  await pruned.run('gatherer')
  const before = await pruned.client.audit()
  expect(await pruned.client.sessions.prune({ olderThanMs: 0 })).toBe(1)
  const after = await pruned.client.audit()
  expect(before).toMatchObject({ sessions: 1, workers: 3, removed: { sessions: 0 }, findings: [] })
  expect(after).toMatchObject({ sessions: 0, workers: 0, removed: { sessions: 1, workers: 3 }, findings: [] })
  expect(after.counts.inputs).toMatchObject({ accepted: 3, removed: 3, completed: 0 })
  expect(after.counts.results).toMatchObject({ accepted: 2, removed: 2 })
  expect(before.counts.all.accepted).toBe(after.counts.all.accepted)
})

test('an audit reports its progress while it looks', async () => {
  await using some = await TestTroupe.start({ workers })
  for (let number = 0; number < 3; number++) await some.run('gatherer')
  const told: unknown[] = []
  const { sessions } = await some.client.audit({ onProgress: (progress) => told.push(progress) })
  expect(told).toEqual([
    { sessions: 1, workers: 3, of: 3 },
    { sessions: 2, workers: 6, of: 3 },
    { sessions: 3, workers: 9, of: 3 },
  ])
  expect(sessions).toBe(3)
})

test('a session that is not known is refused by its id', async () => {
  const id = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000'
  await expect(troupe.client.audit({ sessionId: id })).rejects.toThrow(`session ${id} is not known`)
})
