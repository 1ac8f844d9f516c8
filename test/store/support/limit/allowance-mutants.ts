/** Mutants of the count of what tokens give. */
import { giveScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './allowance-checks.ts'

export const allowanceMutants: readonly Mutant[] = [
  {
    guard: 'the allowance of a request is counted once',
    script: giveScript,
    takenOut: 'line',
    check: checks.whatARequestGivesIsCountedOnce,
  },
  {
    guard: 'an allowance given more than an hour ago no longer counts',
    script: giveScript,
    takenOut: { condition: 'false' },
    check: checks.whatWasGivenMoreThanAnHourAgoCountsNoMore,
  },
  {
    guard: 'an allowance given ahead of the clock counts as given now',
    script: giveScript,
    takenOut: { condition: 'false' },
    check: checks.whatWasGivenAheadOfTheClockWasGivenNow,
  },
  {
    guard: 'a token gives no more than it may',
    script: giveScript,
    takenOut: { condition: 'false' },
    check: checks.aTokenGivesNoMoreThanItMay,
  },
]
