/** Random lives at gates that runs of several partitions pass (GUEST-1, GUEST-2). */
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'
import { atOnce, within } from '../support/queue/gate-checks.ts'
import { randomOf } from '../support/queue/gate-lives.ts'
import { GuestLives } from '../support/queue/guest-lives.ts'

test.each([1, 2, 3, 4])(
  'no gate lets too many runs of all partitions in, and everybody begins, whatever is lost, comes twice or late (seed %i)',
  async (seed) => {
    await using home = await Place.open()
    const gates = seed % 2 === 0 ? [atOnce(2)] : [atOnce(2), within(1_000)]
    const lives = new GuestLives([home, home.beside(1), home.beside(2)], gates, randomOf(seed))
    for (let step = 0; step < 150; step++) {
      await lives.step()
      await lives.check()
    }
    await lives.drain()
    expect(lives.ended).toBeGreaterThan(5)
  },
)
