/** What an access token gives its sessions to spend is counted over an hour, each request once, and never more than it may give. */
import { expect, test } from 'vitest'
import * as checks from '../support/limit/allowance-checks.ts'
import { Place } from '../support/place.ts'
import type { Check } from '../support/turn/checks.ts'

const held = Object.entries(checks).filter(([name]) => name !== 'give') as [string, Check][]

test.each(held)('this guard of allowances holds: %s', async (_name, check) => {
  await using place = await Place.open()
  await expect(check(place)).resolves.toBeUndefined()
})
