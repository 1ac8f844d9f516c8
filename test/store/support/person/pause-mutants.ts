/** Mutants of the pause of a session, and of all sessions. */
import {
  claimScript,
  commitScript,
  finishScript,
  pauseAllScript,
  pauseScript,
  renewScript,
  resumeScript,
  sweepScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './pause-checks.ts'

export const pauseMutants: readonly Mutant[] = [
  {
    guard: 'pause check of claim',
    script: claimScript,
    takenOut: { condition: 'false' },
    check: checks.noWorkerOfAPausedSessionIsClaimed,
  },
  {
    guard: 'a worker of a paused session is kept for its resume',
    script: claimScript,
    takenOut: 'line',
    check: checks.whoWasHeldReturnsToItsPlace,
  },
  {
    guard: 'pause check of commit',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCommitLearnsOfThePause,
  },
  {
    guard: 'pause check of renew',
    script: renewScript,
    takenOut: 'line',
    check: checks.aRenewalLearnsOfThePause,
  },
  {
    guard: 'a node says that it begins nothing more',
    script: renewScript,
    takenOut: 'line',
    check: checks.aPauseWaitsForTurnsThatWereNotTold,
  },
  {
    guard: 'a pause looks at no more workers than a script may',
    script: pauseScript,
    takenOut: { token: ['digits(from + looksMost - 1)', "'-1'"] },
    check: checks.aPauseLooksAtSomeWorkersAtATime,
  },
  {
    guard: 'a pause counts the turns that are not quiet',
    script: pauseScript,
    takenOut: { token: ['== 0', '~= 2'] },
    check: checks.aPauseWaitsForTurnsThatWereNotTold,
  },
  {
    guard: 'no slot runs a child of a paused session',
    script: commitScript,
    takenOut: 'line',
    check: checks.aChildOfAPausedSessionIsGivenToNoSlot,
  },
  {
    guard: 'a session that is asked to pause has a root',
    script: pauseScript,
    takenOut: 'line',
    check: checks.onlyASessionIsPaused,
  },
  {
    guard: 'a session that is asked to resume has a root',
    script: resumeScript,
    takenOut: 'line',
    check: checks.onlyASessionIsResumed,
  },
  {
    guard: 'a question about a pause that was ended begins no new pause',
    script: pauseScript,
    takenOut: 'line',
    check: checks.whoWaitsForAPauseEndsNoResume,
  },
  {
    guard: 'a pause that is sent again undoes no resume',
    script: pauseScript,
    takenOut: 'line',
    check: checks.aPauseThatIsSentAgainUndoesNoResume,
  },
  {
    guard: 'a resume that goes on, or is sent again, ends no pause that came later',
    script: resumeScript,
    takenOut: 'line',
    check: checks.aResumeThatIsSentAgainEndsNoLaterPause,
  },
  {
    guard: 'a finished session takes no pause',
    script: pauseScript,
    takenOut: 'line',
    check: checks.aFinishedSessionIsNotPaused,
  },
  {
    guard: 'a resume brings workers back into their run queues',
    script: resumeScript,
    takenOut: 'line',
    check: checks.whoWasHeldReturnsToItsPlace,
  },
  {
    guard: 'a resume queues only workers that wait',
    script: resumeScript,
    takenOut: { condition: 'true' },
    check: checks.aResumeQueuesOnlyWhoWaits,
  },
  {
    guard: 'wake-up rule after a resume',
    script: resumeScript,
    takenOut: { value: "{ 'ok', '', '0' }" },
    check: checks.whoWasHeldReturnsToItsPlace,
  },
  {
    guard: 'a cancel ends workers that a pause holds',
    script: finishScript,
    takenOut: 'line',
    check: checks.aCancelEndsWhatAPauseKeeps,
  },
  {
    guard: 'nodes learn that all sessions are paused',
    script: sweepScript,
    takenOut: 'line',
    check: checks.nodesLearnThatAllIsPaused,
  },
  {
    guard: 'a pause of all sessions that is sent again undoes no resume',
    script: pauseAllScript,
    takenOut: 'line',
    check: checks.aPauseOfAllThatIsSentAgainUndoesNoResume,
  },
  {
    guard: 'the first pause of all sessions stands',
    script: pauseAllScript,
    takenOut: { condition: 'true' },
    check: checks.theFirstPauseOfAllStands,
  },
]
