/** Mutants of what concerns inputs that steer a run in progress. */
import { commitScript, finishScript, postScript, renewScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './steer-checks.ts'

export const steerMutants: readonly Mutant[] = [
  {
    guard: 'a worker at rest is not steered',
    script: postScript,
    takenOut: { value: 'true' },
    check: checks.aWorkerAtRestIsNotSteered,
  },
  {
    guard: 'a run that has not begun is not in progress',
    script: postScript,
    takenOut: { token: ["'queued'", "'-'"] },
    check: checks.aRunThatHasNotBegunIsNotInProgress,
  },
  {
    guard: 'a run that waits at a gate or for a sibling is not in progress',
    script: postScript,
    takenOut: { value: 'false' },
    check: checks.aRunThatMustWaitIsNotInProgress,
  },
  {
    guard: 'an input that was taken early fills no mailbox',
    script: postScript,
    takenOut: { value: 'true' },
    check: checks.whatWasTakenEarlyFillsNoMailbox,
  },
  {
    guard: 'an input of a restricted sender steers no run',
    script: commitScript,
    takenOut: { operandAfter: 2 },
    check: checks.aRestrictedInputSteersNoRun,
  },
  {
    guard: 'an input that steers a run ends its wait like a signal',
    script: postScript,
    takenOut: { token: ["'signals'", 'plan.lane'] },
    check: checks.whatSteersARunEndsItsWait,
  },
  {
    guard: 'the first input of a lane is never one that was taken',
    script: commitScript,
    takenOut: { token: ["''", "'-'"] },
    check: checks.whatWasTakenIsNeverTheFirstInput,
  },
  {
    guard: 'an input steers a run once',
    script: commitScript,
    takenOut: { condition: 'true' },
    check: checks.anInputSteersARunOnce,
  },
  {
    guard: 'an input that is to begin a run does not steer it',
    script: commitScript,
    takenOut: 'line',
    check: checks.whatIsToBeginARunDoesNotSteerIt,
  },
  {
    guard: 'an input that has begun a run does not steer it',
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.whatHasBegunARunDoesNotSteerIt,
  },
  {
    guard: 'an input that steered an ended run is an input like any other',
    script: commitScript,
    takenOut: { value: "table.concat(left, ' ')" },
    check: checks.whatSteeredAnEndedRunIsAnInput,
  },
  {
    guard: 'end-of-turn test of inputs that steer a run',
    script: commitScript,
    takenOut: 'line',
    check: checks.aTurnEndsOnlyWithWhatItHasSeen,
  },
  {
    guard: 'a commit answers what steers the worker',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCommitAnswersWhatSteers,
  },
  {
    guard: 'a renewal answers what steers the worker',
    script: renewScript,
    takenOut: { value: 'verdict' },
    check: checks.aRenewalAnswersWhatSteers,
  },
  {
    guard: 'an input that a run took early queues no worker',
    script: finishScript,
    takenOut: 'line',
    check: checks.whatWasTakenQueuesNoCancelledWorker,
  },
  {
    guard: 'a step cancels the children that it names',
    script: commitScript,
    takenOut: 'line',
    check: checks.aStepCancelsChildren,
  },
]
