/** When does a node open the gates at which somebody waits? The store and its Redis are real, and the test holds up its call. */
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { UpkeepStore } from '../../../src/core/ports/upkeep.ts'
import { Place } from '../../store/support/place.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { sweeperOf, sweepingBy } from './sweeper-of.ts'

function openingBy(place: Place, around: (fire: () => ReturnType<UpkeepStore['fire']>) => Promise<unknown>) {
  const { upkeep } = place.node()
  const fire = (told?: readonly string[]) => around(() => upkeep.fire(told)) as ReturnType<UpkeepStore['fire']>
  return sweeperOf({ ...sweepingBy(upkeep, (sweep) => sweep()), fire }, place)
}

test('whoever asks for open gates while they are being opened has them opened once more after that (SWEEP-7)', async () => {
  await using place = await Place.open()
  const mayEnd = Promise.withResolvers<void>()
  let [begun, ended] = [0, 0]
  const sweeper = openingBy(place, async (fire) => {
    begun++
    await mayEnd.promise
    return fire().finally(() => ended++)
  })
  for (let asked = 0; asked < 3; asked++) sweeper.openGates()
  expect(begun).toBe(1)
  mayEnd.resolve()
  await waitUntil('gates were opened once more', () => ended === 2)
  await turnOfLoop()
  expect(begun).toBe(2)
})

test('gates that could not be opened are opened when somebody asks again (SWEEP-7)', async () => {
  await using place = await Place.open()
  let opened = 0
  const sweeper = openingBy(place, (fire) => (++opened === 1 ? Promise.reject(new Error('Redis is away')) : fire()))
  sweeper.openGates()
  await turnOfLoop()
  sweeper.openGates()
  expect(opened).toBe(2)
  await turnOfLoop()
})
