/** Events: followed live without gap or duplicate, and read back from any of them, or told that some are gone (E-a). */
import { describe, expect, inject, test } from 'vitest'
import { EventTail, readEvents } from '../../../src/store/event/event-tail.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { trimEvents } from '../../support/trim-events.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { Place } from '../support/place.ts'

/** A place, and a tail on a connection of its own. */
async function tailed(redisUrl?: string) {
  const place = await Place.open()
  const connection = openRedis(redisUrl ?? place.redisUrl)
  const trimmed: string[] = []
  const tail = new EventTail(connection, place.keys, 5_000, (after) => trimmed.push(after))
  const close = async () => {
    await tail.stop()
    await place[Symbol.asyncDispose]()
  }
  return { place, tail, connection, trimmed, [Symbol.asyncDispose]: close }
}

const pageAfter = (place: Place, after: string) => readEvents(place.redis, place.keys, after, 5_000)

const add = (place: Place, session: string) => place.redis.xadd(place.keys.events, '*', session, '[["run.started"]]')

async function addMany(place: Place, count: number): Promise<void> {
  const pipeline = place.redis.pipeline()
  for (let number = 0; number < count; number++)
    pipeline.xadd(place.keys.events, '*', String(number), '[["run.started"],["message.consumed"]]')
  await pipeline.exec()
}

describe('a tail', () => {
  test('tells every entry from the moment it listens, in order, each once', async () => {
    await using scene = await tailed()
    const { place, tail } = scene
    await add(place, 'before')
    const heard: string[] = []
    await tail.listen(({ about }) => heard.push(about))
    await addMany(place, 1_200)
    await waitUntil('all was told', () => heard.length === 1_200)
    expect(heard).toEqual(Array.from({ length: 1_200 }, (_, index) => String(index)))
  })

  test('answers with the id after which it listens, so that the past can be read up to it', async () => {
    await using scene = await tailed()
    const { place, tail } = scene
    const before = await add(place, 'before')
    expect(await tail.listen(() => {})).toBe(before)
  })

  test('goes on telling when the listener throws', async () => {
    await using scene = await tailed()
    const { place, tail } = scene
    const heard: string[] = []
    await tail.listen(({ about }) => {
      heard.push(about)
      throw new Error('mine alone')
    })
    for (const session of ['a', 'b']) await add(place, session)
    await waitUntil('both were told', () => heard.length === 2)
    expect(heard).toEqual(['a', 'b'])
  })

  test('goes on after the last entry it saw when its connection was lost', async () => {
    await using scene = await tailed()
    const { place, tail, connection, trimmed } = scene
    const own = String(await connection.client('ID'))
    const heard: string[] = []
    await tail.listen(({ about }) => heard.push(about))
    await add(place, 'a')
    await waitUntil('the first was told', () => heard.length === 1)
    await place.redis.client('KILL', 'ID', own)
    await add(place, 'b')
    await add(place, 'c')
    await waitUntil('the others were told', () => heard.length === 3)
    expect(heard).toEqual(['a', 'b', 'c'])
    expect(trimmed).toEqual([])
  })

  test('tells first that some are gone, when its connection was lost until they were', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using scene = await tailed(proxy.url)
    const { place, tail, trimmed } = scene
    const heard: string[] = []
    await tail.listen(({ about }) => heard.push(`${about} after ${trimmed.length} gaps`))
    const last = await add(place, 'a')
    await waitUntil('the first was told', () => heard.length === 1)
    proxy.cut()
    for (const session of ['b', 'c', 'd']) await add(place, session)
    await trimEvents(place.redis, place.keys.tag, 'MAXLEN', 2)
    proxy.mend()
    await waitUntil('the others were told', () => heard.length === 3)
    expect(heard).toEqual(['a after 0 gaps', 'c after 1 gaps', 'd after 1 gaps'])
    expect(trimmed).toEqual([last])
  })

  test('stops though it waits for events, and nothing comes any more', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using scene = await tailed(proxy.url)
    await scene.tail.listen(() => {})
    proxy.blackhole()
    await expect(scene.tail.stop()).resolves.toBeUndefined()
  })
})

describe('past events', () => {
  test('are read beside entries of another program', async () => {
    await using place = await Place.open()
    await add(place, 'a')
    await place.redis.xadd(place.keys.events, '*', 'x', 'y')
    await add(place, 'b')
    const { events } = await pageAfter(place, '0-0')
    expect(events.map(({ sessionId }) => sessionId)).toEqual(['a', 'b'])
  })

  test('are read in pages, each event once, from any of them on', async () => {
    await using place = await Place.open()
    await addMany(place, 700)
    const all: string[] = []
    let after = '0-0'
    for (let more = true; more; ) {
      const page = await pageAfter(place, after)
      all.push(...page.events.map(({ id }) => id))
      after = page.last
      more = page.more
      expect(page.trimmed).toBe(false)
    }
    expect(all).toHaveLength(1_400)
    expect(new Set(all).size).toBe(1_400)
    for (const place1 of [0, 1, 698, 699, 1_398]) {
      const { events } = await pageAfter(place, all[place1] as string)
      expect(events[0]?.id).toBe(all[place1 + 1])
    }
    expect((await pageAfter(place, all.at(-1) as string)).events).toEqual([])
  })

  test('that were trimmed are reported as gone, and only then', async () => {
    await using place = await Place.open()
    await addMany(place, 30)
    const ids = (await place.redis.xrange(place.keys.events, '-', '+')).map(([id]) => id)
    expect(await pageAfter(place, `${ids[9]}.1`)).toMatchObject({ trimmed: false })
    await trimEvents(place.redis, place.keys.tag, 'MINID', ids[20] as string)
    expect(await pageAfter(place, `${ids[9]}.1`)).toMatchObject({ trimmed: true })
    expect(await pageAfter(place, `${ids[20]}.0`)).toMatchObject({ trimmed: false })
    expect(await pageAfter(place, `${ids[29]}.1`)).toMatchObject({ trimmed: false, events: [] })
  })

  test('of a namespace without any are none', async () => {
    await using place = await Place.open()
    expect(await pageAfter(place, '0-0')).toMatchObject({ events: [], more: false, trimmed: false })
  })
})
