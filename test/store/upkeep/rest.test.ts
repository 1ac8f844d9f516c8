/** A node without work asks for nothing but whether there is some. */
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'
import {
  aClaimNamesManyKindsByTheirList,
  aNodeRestsOnlyWithoutWork,
  aRegisteredKindIsNoticed,
  aSweepSaysBrieflyThatItsNodeLives,
} from '../support/upkeep/rest-checks.ts'

test.each([
  ['a node is told to rest only where there is no work of any sort', aNodeRestsOnlyWithoutWork],
  ['a sweep says in a few bytes that its node lives', aSweepSaysBrieflyThatItsNodeLives],
  ['a node is told that a kind was registered', aRegisteredKindIsNoticed],
  ['a claim of a node with many kinds names their list', aClaimNamesManyKindsByTheirList],
])('%s', async (_, check) => {
  await using place = await Place.open()
  await expect(check(place)).resolves.toBeUndefined()
})

test('a key of another type than expected is left to the sweep, which names it', async () => {
  await using place = await Place.open()
  const { upkeep } = place.node()
  await upkeep.announce(1, [])
  for (const key of [place.keys.timers, place.keys.pools, place.keys.run('default')]) {
    await place.redis.set(key, 'not what it was')
    expect(await upkeep.rest()).toBeNull()
    await place.redis.del(key)
  }
})
