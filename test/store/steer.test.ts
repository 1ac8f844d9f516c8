/** Inputs that steer a run in progress, in the scripts. mutants.test.ts runs each of these checks without its guard too. */
import { test } from 'vitest'
import { Place } from './support/place.ts'
import * as checks from './support/steer-checks.ts'

test.each(Object.entries(checks))('%s', async (_name, check) => {
  await using place = await Place.open()
  await check(place)
})
