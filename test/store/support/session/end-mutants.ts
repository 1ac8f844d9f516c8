/** Mutants of what the index of ends is written by. */
import {
  claimScript,
  closeScript,
  commitScript,
  createSessionsScript,
  finishScript,
  forkScript,
  pruneScript,
  retryScript,
} from '../../../../src/store/script/scripts.ts'
import { noneIsStartedAgainWhoseEndCannotBeWritten } from '../mail/letter-checks.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './end-checks.ts'

const rows = [
  ['a session that is created goes on', createSessionsScript, checks.aCreatedSessionGoesOn],
  ['a copy goes on', forkScript, checks.aCopyGoesOn],
  ['a session that ends with a commit has ended', commitScript, checks.aSessionThatCompletesHasEnded],
  ['who waits for an end is told of it', commitScript, checks.whoWaitsForAnEndIsToldOfItAlone],
  ['a client is told of the ends of its jobs', commitScript, checks.aClientIsToldOfTheEndsOfItsJobs],
  ['a session that is closed has ended', closeScript, checks.aClosedSessionHasEnded],
  ['a retried session goes on', retryScript, checks.aRetriedSessionGoesOn],
  ['a session that was cancelled has ended', finishScript, checks.aCancelledSessionHasEnded],
  ['a job whose run was cancelled while nobody ran it has ended', finishScript, checks.aJobWhoseRunIsCancelledHasEnded],
  ['a pruned session leaves the index of ends', pruneScript, checks.aPrunedSessionHasNoEnd],
  ['a commit is whole even if the index of ends cannot be read', commitScript, checks.aDamagedIndexOfEndsTearsNoCommit],
  [
    'a worker that could not commit is checked first: the index of ends',
    claimScript,
    noneIsStartedAgainWhoseEndCannotBeWritten,
  ],
] as const

export const endMutants: readonly Mutant[] = [
  ...rows.map(([guard, script, check]) => ({ guard, script, takenOut: 'line' as const, check })),
  {
    guard: 'a session says who closed it first',
    script: closeScript,
    takenOut: { condition: 'true' },
    check: checks.aSessionSaysWhoClosedItFirst,
  },
  {
    guard: 'who waits for a run that a sweep ends is told of its end',
    script: finishScript,
    takenOut: { value: "session .. ' ' .. worker" },
    check: checks.whoWaitsForARunThatASweepEndsIsToldOfIt,
  },
]
