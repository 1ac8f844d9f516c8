/**
 * audit of sessions of which nothing is left: lost ones are told from those that were pruned, by their ends in the event stream and
 * by the count of what was pruned; and nothing that moves while the audit reads is taken for a loss.
 */
import { describe, expect, test } from 'vitest'
import { audit } from '../../src/audit/audit.ts'
import type { Session } from '../../src/client/session/session.ts'
import { rootIdOf } from '../../src/core/ids.ts'
import { AuditStore } from '../../src/store/audit/audit-store.ts'
import { partitionKeys, sessionKeys, workerKeys } from '../../src/store/keys.ts'
import { ScriptCaller } from '../../src/store/script/script.ts'
import { workers } from '../client/support/audit-scenes.ts'
import { trimEvents } from '../support/redis/trim-events.ts'
import { TestTroupe } from '../support/test-troupe.ts'

async function lose({ redis, tag }: TestTroupe, { id }: Session): Promise<void> {
  await redis.del(...Object.values(sessionKeys(tag, id)), ...Object.values(workerKeys(tag, rootIdOf(id))))
  await redis.zrem(partitionKeys(tag).sessions, id)
  await redis.zrem(partitionKeys(tag).run('unhosted'), rootIdOf(id))
}

async function finished(troupe: TestTroupe): Promise<Session> {
  const session = await troupe.create('echo', 1)
  await session.result()
  return session
}

/** The audit with something that happens just before it reads this. */
function auditWith(troupe: TestTroupe, name: keyof AuditStore, happens: () => Promise<unknown>) {
  const keys = partitionKeys(troupe.tag)
  const store = new AuditStore(troupe.redis, new ScriptCaller(troupe.redis), keys, 0, 10_000)
  const before = new Proxy(store, {
    get(target, member) {
      const read: unknown = Reflect.get(target, member, target)
      if (typeof read !== 'function') return read
      return async (...args: unknown[]) => {
        if (member === name) await happens()
        return Reflect.apply(read, target, args) as unknown
      }
    },
  })
  return audit([before])
}

describe('a session that has left no key', () => {
  test('a session that lost all its keys before it ended is named by the audit', async () => {
    await using troupe = await TestTroupe.connect()
    const [lost, kept] = [await troupe.create('nobody'), await troupe.create('nobody')]
    await lose(troupe, lost)
    const what = `session ${lost.id} was created and did not end, and neither it nor its root is there`
    const finding = { invariant: 'I16', rule: 'lost', sessionId: lost.id, workerId: null, what }
    expect(await troupe.client.audit()).toMatchObject({ sessions: 1, findings: [finding] })
    expect(await troupe.client.audit({ sessionId: lost.id })).toMatchObject({ sessions: 0, findings: [finding] })
    expect(await troupe.client.audit({ sessionId: kept.id })).toMatchObject({ sessions: 1, findings: [] })
  })

  test('a session that lost all its keys after it ended counts against the number of pruned sessions', async () => {
    await using troupe = await TestTroupe.start({ workers })
    const pruned = await finished(troupe)
    expect(await troupe.client.sessions.prune({ olderThanMs: 0 })).toBe(1)
    expect((await troupe.client.audit()).findings).toEqual([])
    const lost = await finished(troupe)
    await lose(troupe, lost)
    const { findings } = await troupe.client.audit()
    expect(findings).toMatchObject([{ invariant: 'I16', sessionId: null, workerId: null }])
    expect(findings[0]?.what).toMatch(
      /^2 sessions that had ended are gone, and the count of those pruned is 1: the others are lost/,
    )
    expect(findings[0]?.what).toContain(lost.id)
    const asked = troupe.client.audit({ sessionId: pruned.id })
    await expect(asked).rejects.toThrow(`session ${pruned.id} is not known: it has ended and is gone`)
  })

  test('a session that has left no key is not missed if the event of its creation was trimmed', async () => {
    await using troupe = await TestTroupe.connect()
    await lose(troupe, await troupe.create('nobody'))
    await troupe.create('nobody')
    await trimEvents(troupe.redis, troupe.tag, 'MAXLEN', 0)
    expect((await troupe.client.audit()).findings).toEqual([])
  })
})

describe('a session that still exists or was pruned', () => {
  test.each(['sessionIds', 'gone', 'retired'] as const)(
    'a session is not reported as lost if it is pruned before %s are read',
    async (name) => {
      await using troupe = await TestTroupe.start({ workers })
      await finished(troupe)
      const report = await auditWith(troupe, name, async () => {
        await finished(troupe)
        await troupe.client.sessions.prune({ olderThanMs: 0 })
      })
      expect(report.findings).toEqual([])
    },
  )

  test.each(['sessionIds', 'gone', 'retired'] as const)(
    'a session is not reported as lost if it is created before %s are read',
    async (name) => {
      await using troupe = await TestTroupe.start({ workers })
      await finished(troupe)
      const report = await auditWith(troupe, name, () => troupe.create('nobody'))
      expect(report.findings).toEqual([])
    },
  )

  test('a session that ended and left the index is not reported as lost while its record is there', async () => {
    await using troupe = await TestTroupe.start({ workers })
    const { id } = await finished(troupe)
    await troupe.redis.zrem(partitionKeys(troupe.tag).sessions, id)
    expect((await troupe.client.audit()).findings.map(({ rule }) => rule)).toEqual(['index'])
  })

  test('sessions that end and are pruned all the time are not reported as lost', { timeout: 240_000 }, async () => {
    await using troupe = await TestTroupe.start({ workers })
    const over = new AbortController()
    const working = (async () => {
      while (!over.signal.aborted) {
        await Promise.all(['echo', 'gatherer', 'chatty'].map((kind) => troupe.run(kind)))
        await troupe.client.sessions.prune({ olderThanMs: 0 })
      }
    })()
    const found: unknown[] = []
    for (let number = 0; number < 10; number++) found.push(...(await troupe.client.audit()).findings)
    over.abort()
    await working
    expect(found).toEqual([])
    expect((await troupe.client.audit()).removed.sessions).toBeGreaterThan(0)
  })
})
