/** audit of what has changed since a time: sessions that had ended before are left out, and nothing that goes on is. */
import { describe, expect, test } from 'vitest'
import type { Session } from '../../src/client/session/session.ts'
import { newId } from '../../src/core/ids.ts'
import { AuditStore, itemsOf } from '../../src/store/audit/audit-store.ts'
import { partitionKeys, workerKeys } from '../../src/store/keys.ts'
import { ScriptCaller } from '../../src/store/script/script.ts'
import { workers } from '../client/support/audit-scenes.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const hour = 3_600_000

/** A session that ended three hours ago, one that has just ended, and one that goes on. */
async function threeSessions(troupe: TestTroupe) {
  const node = await troupe.startNode(workers)
  const [old, fresh] = [await troupe.create('echo', 1), await troupe.create('echo', 2)]
  await Promise.all([old.result(), fresh.result()])
  await node.stop()
  const live = await troupe.create('echo', 3)
  const { ends } = partitionKeys(troupe.tag)
  await troupe.redis.zincrby(ends, -3 * hour, old.id)
  return { old, fresh, live }
}

/** Takes the message of the session's only run out of its history. */
async function spoil({ redis, tag }: TestTroupe, session: Session): Promise<void> {
  await redis.lpop(workerKeys(tag, session.rootId).log)
}

async function sessionsWithFindings(troupe: TestTroupe, since?: number | 'last') {
  const { findings } = await troupe.client.audit({ since })
  return new Set(findings.map(({ sessionId }) => sessionId))
}

describe('audit since a time', () => {
  test('audit since a time looks at sessions that go on or ended later, and says which it left out', async () => {
    await using troupe = await TestTroupe.connect()
    const { old, fresh } = await threeSessions(troupe)
    await spoil(troupe, old)
    await spoil(troupe, fresh)
    const since = Date.now() - hour
    const seen: unknown[] = []
    const report = await troupe.client.audit({ since, onProgress: (progress) => seen.push(progress) })
    expect(report).toMatchObject({ since, sessions: 2, workers: 2, removed: { sessions: 0, workers: 0 } })
    expect(seen.at(-1)).toEqual({ sessions: 2, workers: 2, of: 2 })
    expect(await sessionsWithFindings(troupe, since)).toEqual(new Set([fresh.id]))
    expect(await sessionsWithFindings(troupe)).toEqual(new Set([old.id, fresh.id]))
    await expect(troupe.client.audit({ since, sessionId: old.id })).rejects.toThrow(/leave out either/)
  })

  test('"last" is the time of the last audit that was recorded, unless it had findings', async () => {
    await using troupe = await TestTroupe.connect()
    const { old, fresh } = await threeSessions(troupe)
    const { sessions, since } = await troupe.client.audit({ since: 'last', record: true })
    expect({ sessions, since }).toEqual({ sessions: 3, since: undefined })
    const second = await troupe.client.audit({ since: 'last', record: true })
    expect({ sessions: second.sessions, since: second.since }).toEqual({ sessions: 1, since: expect.any(Number) })
    await spoil(troupe, old)
    await spoil(troupe, fresh)
    await troupe.client.audit({ record: true })
    await expect(troupe.client.audit({ since: Date.now(), record: true })).rejects.toThrow(/is not recorded/)
    // Until it is mended, whoever looks sees it.
    expect(await sessionsWithFindings(troupe, 'last')).toEqual(new Set([old.id, fresh.id]))
  })

  test('each session is read once, in pages, even if many ended at one moment', async () => {
    await using troupe = await TestTroupe.connect()
    const { redis, tag } = troupe
    const keys = partitionKeys(tag)
    const ids = Array.from({ length: 2_500 }, () => newId(0))
    const score = (index: number) => (index < 1_200 ? 5 : index)
    await redis.zadd(keys.sessions, ...ids.flatMap((id, index) => [score(index), id]))
    await redis.zadd(
      keys.ends,
      ...ids.flatMap((id, index) => [index % 2 === 0 ? score(index) - 4e15 : score(index), id]),
    )
    const store = new AuditStore(redis, new ScriptCaller(redis), keys, 0, 10_000)
    const read = (until: number, since?: number) =>
      Array.fromAsync(itemsOf((cursor) => store.sessionIds(cursor, until, since)))
    expect((await read(2_500)).toSorted()).toEqual(ids.toSorted())
    const wanted = ids.filter((_, index) => index % 2 === 0 || (score(index) >= 1_500 && score(index) <= 2_400))
    expect((await read(2_400, 1_500)).toSorted()).toEqual(wanted.toSorted())
    await redis.del(keys.sessions, keys.ends)
  })
})
