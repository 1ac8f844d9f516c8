/** Mutants of what an amendment of a history rests on. */
import { amendScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './amend-checks.ts'

const lines: readonly (readonly [guard: string, check: Mutant['check']])[] = [
  ['an amendment that is sent again counts once', checks.anAmendmentSentAgainCountsOnce],
  ['a worker that was cancelled for good is not amended', checks.aCancelledWorkerIsNotAmended],
  ['nothing is amended in a session that is over', checks.aFinishedSessionIsNotAmended],
  ['only a worker that rests is amended', checks.aWorkerAtWorkIsNotAmended],
  ['an amendment holds for the history that its caller read', checks.aHistoryThatMovedOnIsNotAmended],
  ['idempotency key of an amendment', checks.aKeyAmendsOnce],
  ['an amendment is a new version of the record', checks.anAmendmentIsANewVersion],
]

export const amendMutants: readonly Mutant[] = lines.map(([guard, check]) => ({
  guard,
  script: amendScript,
  takenOut: 'line',
  check,
}))
