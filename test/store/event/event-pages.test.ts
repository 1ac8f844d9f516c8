/** Events are read back from any of them, page by page, or it is said that some are gone (E-a). */
import { describe, expect, test } from 'vitest'
import { readEvents } from '../../../src/store/event/event-pages.ts'
import type { Redis } from '../../../src/store/redis/redis.ts'
import { trimEvents } from '../../support/redis/trim-events.ts'
import { Place } from '../support/place.ts'

const pageAfter = (place: Place, after: string) => readEvents(place.redis, place.keys, after, 5_000)

const add = (place: Place, session: string) => place.redis.xadd(place.keys.events, '*', session, '[["run.started"]]')

async function addMany(place: Place, count: number): Promise<void> {
  const pipeline = place.redis.pipeline()
  for (let number = 0; number < count; number++)
    pipeline.xadd(place.keys.events, '*', String(number), '[["run.started"],["message.consumed"]]')
  await pipeline.exec()
}

describe('past events', () => {
  test('past events are read beside entries of another program', async () => {
    await using place = await Place.open()
    await add(place, 'a')
    await place.redis.xadd(place.keys.events, '*', 'x', 'y')
    await add(place, 'b')
    const { events } = await pageAfter(place, '0-0')
    expect(events.map(({ sessionId }) => sessionId)).toEqual(['a', 'b'])
  })

  test('past events are read in pages, each event once, from any of them on', async () => {
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

  test('past events that were trimmed are reported as gone, and only then', async () => {
    await using place = await Place.open()
    await addMany(place, 30)
    const ids = (await place.redis.xrange(place.keys.events, '-', '+')).map(([id]) => id)
    expect(await pageAfter(place, `${ids[9]}.1`)).toMatchObject({ trimmed: false })
    await trimEvents(place.redis, place.keys.tag, 'MINID', ids[20] as string)
    expect(await pageAfter(place, `${ids[9]}.1`)).toMatchObject({ trimmed: true })
    expect(await pageAfter(place, `${ids[20]}.0`)).toMatchObject({ trimmed: false })
    expect(await pageAfter(place, `${ids[29]}.1`)).toMatchObject({ trimmed: false, events: [] })
  })

  test('a namespace without events has no past events', async () => {
    await using place = await Place.open()
    expect(await pageAfter(place, '0-0')).toMatchObject({ events: [], more: false, trimmed: false })
  })

  test('past events are read in short pages where they are long (EVENT-PAGES-3)', async () => {
    await using place = await Place.open()
    const long = `[["run.warned",{"message":"${'x'.repeat(100_000)}"}]]`
    for (let number = 0; number < 120; number++) await place.redis.xadd(place.keys.events, '*', String(number), long)
    const first = await pageAfter(place, '0-0')
    const { events, nextCount } = await readEvents(place.redis, place.keys, first.last, 5_000, first.nextCount)
    expect([events.length, nextCount]).toEqual([first.nextCount - 1, first.nextCount])
    expect(nextCount).toBeLessThan(12)
  })

  test.each<[string, { info: readonly unknown[]; isNoted?: boolean }, boolean]>([
    ['nothing was ever trimmed', { info: ['length', 1, 'entries-added', 1] }, false],
    ['some were trimmed since', { info: ['length', 1, 'entries-added', 7] }, true],
    ['Redis cannot tell, as before 7.0, and no sweep took any', { info: ['length', 1] }, false],
    [
      'Redis was too old to tell when a sweep took some',
      { info: ['length', 1, 'entries-added', 1], isNoted: true },
      true,
    ],
    ['Redis cannot tell, and a sweep took some', { info: ['length', 1], isNoted: true }, true],
  ])('past events are read from the first one on: %s', async (_, { info, isNoted = false }, trimmed) => {
    await using place = await Place.open()
    await add(place, 'a')
    const redis = Object.create(place.redis, {
      xinfo: { value: async () => info },
      hexists: { value: async () => (isNoted ? 1 : 0) },
    }) as Redis
    expect(await readEvents(redis, place.keys, '0-0', 5_000)).toMatchObject({ trimmed })
  })
})
