/** Random lives at the gates of a kind: after each step no gate lets too many in, records and sets agree, and those that wait begin in their order. */
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'
import { GateLives } from '../support/queue/gate-lives.ts'

const steps = 60

test.each([1, 2, 3])(
  'no gate lets too many runs in, and everybody begins, whatever ends, dies and is cancelled (seed %i)',
  async (seed) => {
    await using place = await Place.open()
    const lives = new GateLives(place, seed)
    for (let step = 0; step < steps; step++) {
      await lives.step()
      await lives.check()
    }
    await lives.drain()
    await lives.check()
    expect(await place.redis.keys(`${place.keys.tag}:gate*`)).toEqual([])
    expect(await place.redis.zcard(place.keys.run('default'))).toBe(0)
  },
)
