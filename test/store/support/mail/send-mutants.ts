/** Mutants of what concerns messages between workers. */
import { claimScript, commitScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './send-checks.ts'

export const sendMutants: readonly Mutant[] = [
  {
    guard: 'a step looks for room in few large mailboxes',
    script: commitScript,
    takenOut: { value: 'true' },
    check: checks.aStepLooksForRoomInFewLargeMailboxes,
  },
  {
    guard: 'an agent sends within its session',
    script: commitScript,
    takenOut: 'line',
    check: checks.anAgentSendsWithinItsSession,
  },
  {
    guard: 'a worker sends no further than its permissions reach',
    script: commitScript,
    takenOut: 'line',
    check: checks.aWorkerSendsAsFarAsItMay,
  },
  {
    guard: 'a worker without a right to send sends nothing to a child it spawns',
    script: commitScript,
    takenOut: 'line',
    check: checks.aSilentWorkerSendsNothingToANewChild,
  },
  {
    guard: 'a child sends no further than its parent',
    script: commitScript,
    takenOut: { token: ['<=', '>='] },
    check: checks.aChildSendsNoFurtherThanItsParent,
  },
  {
    guard: 'a run has no more than the sender of its message may use',
    script: claimScript,
    takenOut: { value: 'false' },
    check: checks.aRunHasNoMoreThanItsSender,
  },
  {
    guard: 'a turn under the permissions of a sender receives no other input',
    script: claimScript,
    takenOut: 'line',
    check: checks.aRunHasNoMoreThanItsSender,
  },
  {
    guard: 'an input of a restricted sender waits for a turn of its own',
    script: claimScript,
    takenOut: 'line',
    check: checks.aRestrictedInputHasATurnOfItsOwn,
  },
  {
    guard: 'a run gives no child more than the sender of its message may use',
    script: commitScript,
    takenOut: { token: ["'runPermissions'", "'none'"] },
    check: checks.aRestrictedRunGivesNoMore,
  },
  {
    guard: 'the permissions of a run end with it',
    script: claimScript,
    takenOut: 'line',
    check: checks.theNextRunIsFreeAgain,
  },
]
