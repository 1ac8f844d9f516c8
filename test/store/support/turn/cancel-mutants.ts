/** Mutants of what concerns cancels of one worker or of one run. */
import {
  cancelScript,
  cancelWorkerScript,
  claimScript,
  commitScript,
  finishScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './cancel-checks.ts'

export const cancelMutants: readonly Mutant[] = [
  {
    guard: 'a cancel of a run that is sent again does not cancel the next run',
    script: cancelWorkerScript,
    takenOut: 'line',
    check: checks.aCancelThatIsSentAgainSparesTheNextRun,
  },
  {
    guard: 'a cancel of one run spares the next one',
    script: cancelWorkerScript,
    takenOut: 'line',
    check: checks.aCancelOfOneRunSparesTheNext,
  },
  {
    guard: 'a root is cancelled with its session',
    script: cancelWorkerScript,
    takenOut: 'line',
    check: checks.aRootIsCancelledWithItsSession,
  },
  {
    guard: 'a session that is being cancelled takes no cancel of one worker',
    script: cancelWorkerScript,
    takenOut: 'line',
    check: checks.aCancelledSessionTakesNoCancelOfOne,
  },
  {
    guard: 'a cancel of one worker reaches workers that outlive its session',
    script: cancelWorkerScript,
    takenOut: { operandAfter: 1 },
    check: checks.aCancelOfOneReachesWhatOutlivesItsSession,
  },
  {
    guard: 'workers that outlive their session learn why they are cancelled',
    script: cancelScript,
    takenOut: 'line',
    check: checks.whatOutlivesItsSessionLearnsWhyItIsCancelled,
  },
  {
    guard: 'a cancel of one worker is written once',
    script: cancelWorkerScript,
    takenOut: { condition: 'false' },
    check: checks.aCancelOfOneIsWrittenOnce,
  },
  {
    guard: 'a run that has not begun is not cancelled',
    script: cancelWorkerScript,
    takenOut: 'line',
    check: checks.aRunThatHasNotBegunIsNotCancelled,
  },
  {
    guard: 'a cancel of one worker is whole even if Redis cannot count up',
    script: cancelWorkerScript,
    takenOut: 'line',
    check: checks.aCountThatIsTooLargeTearsNoCancelOfOne,
  },
  {
    guard: 'a cancel of one worker is in the set of its session',
    script: cancelWorkerScript,
    takenOut: 'line',
    check: checks.aCancelledWorkerCannotCommit,
  },
  {
    guard: 'a worker that is cancelled for good keeps its mail for reading',
    script: commitScript,
    takenOut: 'line',
    check: checks.aWorkerCancelledForGoodKeepsItsMail,
  },
  {
    guard: 'a cancelled run takes the message that it was to begin with',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCancelledRunTakesItsMessage,
  },
  {
    guard: 'a job whose run is cancelled ends',
    script: commitScript,
    takenOut: { operandAfter: 4 },
    check: checks.aJobEndsWithItsCancelledRun,
  },
  {
    guard: 'a worker whose run was cancelled goes on with its mail',
    script: finishScript,
    takenOut: { value: "'idle'" },
    check: checks.aWorkerGoesOnAfterACancelledRun,
  },
  {
    guard: 'isolated starts of a run that a finish ends are not held against the next one',
    script: finishScript,
    takenOut: 'line',
    check: checks.aMessageIsNotBlamedForACancelledRun,
  },
  {
    guard: 'last words go with a run that a finish ends',
    script: finishScript,
    takenOut: 'line',
    check: checks.aMessageIsNotBlamedForACancelledRun,
  },
  {
    guard: 'a job whose run is cancelled while nobody runs it ends',
    script: finishScript,
    takenOut: { value: 'false' },
    check: checks.aJobEndsWithARunCancelledInItsQueue,
  },
  {
    guard: 'the parent of a worker that was cancelled while nobody ran it gets a result',
    script: finishScript,
    takenOut: 'line',
    check: checks.theParentOfAChildThatNeverRanGetsAResult,
  },
  {
    guard: 'a run that has begun gets its last step from a node',
    script: finishScript,
    takenOut: { condition: 'false' },
    check: checks.aRunThatHasBegunIsEndedByANode,
  },
  {
    guard: 'a run that begins on a node whose kind has onCancel gets a last step',
    script: claimScript,
    takenOut: { value: "'0'" },
    check: checks.aRunThatWasStartedAndNotRecordedIsEndedByANode,
  },
  {
    guard: 'a run that has not begun gets no last step',
    script: commitScript,
    takenOut: 'line',
    check: checks.aRunThatHasNotBegunIsEndedBySweeps,
  },
  {
    guard: 'the next run of the same turn gets a last step too',
    script: commitScript,
    takenOut: 'line',
    check: checks.theSecondRunOfATurnIsEndedByANode,
  },
  {
    guard: 'a last step that ends its node is a suspect like any other',
    script: claimScript,
    takenOut: { value: "suspect and purpose == 'run'" },
    check: checks.aLastStepThatEndsItsNodeIsIsolated,
  },
  {
    guard: 'a pause does not hold up a last step',
    script: finishScript,
    takenOut: { value: 'false' },
    check: checks.aPauseHoldsUpNoLastStep,
  },
  {
    guard: 'a retry ends with its run',
    script: finishScript,
    takenOut: 'line',
    check: checks.aRetryEndsWithItsRun,
  },
]
