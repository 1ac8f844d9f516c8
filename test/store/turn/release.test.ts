/** Last words, and the workers that a dying node releases. */
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'
import * as checks from '../support/turn/release-checks.ts'

test.each(Object.entries(checks))('%s', async (_name, check) => {
  await using place = await Place.open()
  await check(place)
  expect(await place.redis.exists(place.keys.nodes)).toBeLessThanOrEqual(1)
})
