/** Any order of posts, claims, commits, lost leases, sweeps and duplicates keeps the invariants. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLong } from '../support/fault/fault-settings.ts'
import { Place } from './support/place.ts'
import { type Move, Simulation } from './support/simulation.ts'

const move: fc.Arbitrary<Move> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('claim' as const) },
    { weight: 4, arbitrary: fc.constant('post' as const) },
    {
      weight: 6,
      arbitrary: fc.constantFrom(
        'step' as const,
        'finish' as const,
        'chain' as const,
        'again' as const,
        'spawn' as const,
      ),
    },
    { weight: 2, arbitrary: fc.constantFrom('expire' as const, 'duplicate' as const) },
    { weight: 1, arbitrary: fc.constant('sweep' as const) },
  ),
  pick: fc.nat(11),
})

test('no message is lost, doubled or out of order, and every worker is where its record says (I1–I5, I7, I8)', {
  timeout: 400_000,
}, async () => {
  const property = fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 5, maxLength: 60, size: 'max' }), async (moves) => {
      await using place = await Place.open()
      const simulation = await Simulation.start(place, 2)
      for (const one of moves) {
        await simulation.move(one)
        await simulation.check()
      }
      await simulation.drain()
      await simulation.check()
      await simulation.expectRest()
    }),
    { numRuns: isLong ? 3_000 : 60 },
  )
  await expect(property).resolves.toBeUndefined()
})
