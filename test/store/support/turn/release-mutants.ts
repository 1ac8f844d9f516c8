/** Mutants of what a dying node releases, and of its last words. */
import { commitScript, releaseScript, sweepScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './release-checks.ts'

export const releaseMutants: readonly Mutant[] = [
  {
    guard: 'token check of release',
    script: releaseScript,
    takenOut: 'line',
    check: checks.aReleaseTakesNoWorkerOfAnother,
  },
  {
    guard: 'a start that is not to blame is not counted',
    script: releaseScript,
    takenOut: 'line',
    check: checks.aReleasedStartCountsForItsAuthorAlone,
  },
  {
    guard: 'an isolated start that is not to blame is not counted',
    script: releaseScript,
    takenOut: 'line',
    check: checks.anIsolatedStartIsTakenBack,
  },
  {
    guard: 'token cleared with the release',
    script: releaseScript,
    takenOut: { token: ["digits(epoch) .. ':'", 'turn.token'] },
    check: checks.aReleaseFencesTheTurn,
  },
  {
    guard: 'last words make no record',
    script: releaseScript,
    takenOut: { condition: 'true' },
    check: checks.lastWordsMakeNoRecord,
  },
  {
    guard: 'last words go with a commit',
    script: commitScript,
    takenOut: 'line',
    check: checks.lastWordsGoWithACommit,
  },
  {
    guard: 'starts stay counted if a turn is released and recorded nothing',
    script: commitScript,
    takenOut: { value: '0' },
    check: checks.aReleasedTurnThatRecordedNothingChangesNoCount,
  },
  {
    guard: 'an isolated start that recorded nothing is not counted',
    script: commitScript,
    takenOut: 'line',
    check: checks.aReleasedTurnThatRecordedNothingChangesNoCount,
  },
  {
    guard: 'damaged last words break no event',
    script: sweepScript,
    takenOut: { token: [`not string.find(words, '["\\\\%c]')`, 'true'] },
    check: checks.damagedLastWordsBreakNoEvent,
  },
]
