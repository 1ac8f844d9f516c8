/** The fork of a session, step by step: nothing of a copy is seen before it appears, and what is given up stays for nobody. */
import { describe, expect, test } from 'vitest'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import type { ForkStore } from '../../../src/store/fork/fork-store.ts'
import { SessionCopy } from '../../../src/store/fork/session-copy.ts'
import { Place } from '../support/place.ts'
import { blobsOf, text } from '../support/session/blob-checks.ts'
import { forked, live } from '../support/session/fork-checks.ts'

class Died extends Error {}

/** Wraps a store so that its client dies at this call: before Redis hears of the call, or before the client hears the answer. */
function dyingAt(store: ForkStore, at: number, when: 'before' | 'after'): ForkStore {
  let calls = 0
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return async (...args: unknown[]) => {
        const isNow = calls++ === at
        if (isNow && when === 'before') throw new Died()
        const answer: unknown = await Reflect.apply(member, target, args)
        if (isNow) throw new Died()
        return answer
      }
    },
  })
}

async function forkBy(store: ForkStore, from: string): Promise<string> {
  const copyId = newId(0)
  const cut = await store.cut(from)
  if (cut.kind !== 'ok') throw new Error(cut.kind)
  const order = await new SessionCopy(store, cut, copyId, { from, at: 1, isDryRun: false }).write()
  const event = `[["session.created","echo",null,null,null,null,null,"${from}"]]`
  await store.appear({ ...order, event, told: '[["session.forked",{}]]' })
  return copyId
}

/** Keys that stay, of sessions that are there and of others. */
async function lasting(place: Place): Promise<string[]> {
  const keys = await place.redis.keys(`${place.keys.tag}:*`)
  const ms = await Promise.all(keys.map((key) => place.redis.pttl(key)))
  return keys.filter((_, index) => ms[index] === -1).sort()
}

describe('a fork', () => {
  test('a fork of a client that dies at any of its calls leaves nothing that anybody sees, or that stays', async () => {
    for (const when of ['before', 'after'] as const) {
      let isOver = false
      for (let at = 0; !isOver; at++) {
        await using place = await Place.open()
        const { session } = await live(place)
        const before = await lasting(place)
        const copyId = await forkBy(dyingAt(place.sessions.forks, at, when), session.id).catch((error: unknown) => {
          if (error instanceof Died) return null
          throw error
        })
        isOver = copyId !== null
        const sessions = await place.redis.zrange(place.keys.sessions, 0, '-1')
        // If the answer to the last call was lost, the copy is there, as a whole.
        const left = sessions.length === 1 ? await lasting(place) : before
        expect([sessions.length <= 2, left]).toEqual([true, before])
        expect(at).toBeLessThan(20)
      }
    }
  })

  test('a fork of a session that is pruned while its histories are read does not become a copy without its blobs', async () => {
    await using place = await Place.open()
    const { session } = await live(place)
    await blobsOf(place).keep(session.id, text('a picture'))
    const { forks } = place.sessions
    const pruned = new Proxy(forks, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (name !== 'entries') return typeof member === 'function' ? member.bind(target) : member
        return async (...args: Parameters<ForkStore['entries']>) => {
          const entries = await forks.entries(...args)
          await place.redis.del(...(await place.redis.keys(`${place.keys.tag}:s:${session.id}:blob*`)))
          return entries
        }
      },
    })
    await expect(forkBy(pruned, session.id)).rejects.toMatchObject({ code: 'session_not_found' })
  })

  test('a fork holds no lease, queue or record of the session that it is made of', async () => {
    await using place = await Place.open()
    const { session, root, child } = await live(place)
    const [before, after] = [
      await place.dump(),
      await (async () => {
        await forked(place, session)
        return place.dump()
      })(),
    ]
    for (const key of Object.keys(before).filter((name) => /^[ws]:<(one|one.root|c1)>/.test(name)))
      expect([key, after[key]]).toEqual([key, before[key]])
    expect(root.worker).toBe(rootIdOf(session.id))
    expect(await place.redis.zscore(place.keys.run('default'), child.id)).not.toBeNull()
  })

  test('a fork is pruned as any other session, with all of its keys', async () => {
    await using place = await Place.open()
    const { session } = await live(place)
    const { id } = await forked(place, session)
    for (const one of [session.id, id]) await place.sessions.cancel(one, 'enough')
    await place.node().upkeep.finishCancelled()
    expect((await place.redis.keys(`*${id}*`)).length).toBeGreaterThan(2)
    expect(await place.sessions.prune(0)).toBe(2)
    expect(await place.redis.keys(`${place.keys.tag}:[ws]:*`)).toEqual([])
  })
})
