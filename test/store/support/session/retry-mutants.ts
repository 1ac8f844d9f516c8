/** Mutants of what a retried session rests on. */
import { claimScript, retryScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './retry-checks.ts'

const lines: readonly (readonly [guard: string, check: Mutant['check']])[] = [
  ['a session is retried once by one call', checks.aRetrySentTwiceCountsOnce],
  ['only a failed session is retried', checks.aClosedConversationIsNotRetried],
  ['only a failed run is retried', checks.aCompletedRunIsNotRetried],
  ['a retry goes on from the record that its caller read', checks.aRecordThatMovedOnIsNotRetried],
  ['a session that is being pruned is not retried', checks.aPrunedSessionIsNotRetried],
  ['a session whose workers were cancelled is not retried', checks.aCancelledTreeIsNotRetried],
  ['a child that a retried run spawns is not cancelled at once', checks.aRetryWaitsForCancelledChildren],
  ['a letter that was put back is not retried', checks.aLetterIsRetriedOnce],
  ['a retried session keeps the result of its failed run', checks.theFailedRunOfALetterKeepsItsResult],
  ['a run that goes on has no result yet', checks.aRetriedRunHasNoResult],
  ['children of a retried run get new numbers', checks.aRetriedRunIsOpenAgain],
  ['a retried run keeps the steps that it recorded', checks.aRetriedRunIsOpenAgain],
  ['a retry is a new version of the record', checks.aRetriedRunIsOpenAgain],
  ['a retried session has not ended', checks.aRetriedRunIsOpenAgain],
]

export const retryMutants: readonly Mutant[] = [
  {
    guard: 'an order to a worker between two runs leaves the failure of the last one',
    script: claimScript,
    takenOut: { token: ["~= 'c\\t'", "~= ''"] },
    check: checks.anOrderLeavesTheFailure,
  },
  ...lines.map(([guard, check]) => ({ guard, script: retryScript, takenOut: 'line' as const, check })),
  {
    guard: 'wake-up rule on retry',
    script: retryScript,
    takenOut: { value: "''" },
    check: checks.aRetriedRunIsOpenAgain,
  },
  {
    guard: 'a retry changes only the limits that it sets',
    script: retryScript,
    takenOut: { token: ['record.caps', 'nil'] },
    check: checks.aRetryKeepsTheLimitsOfOthers,
  },
]
