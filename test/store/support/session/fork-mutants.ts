/** Mutants of the fork of a session. */
import { commitScript, cutScript, forkScript, prepareForkScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './fork-checks.ts'

const line = (
  script: Mutant['script'],
  guard: string,
  check: Mutant['check'],
  takenOut: Mutant['takenOut'] = 'line',
): Mutant => ({ guard, script, takenOut, check })

export const forkMutants: readonly Mutant[] = [
  line(cutScript, 'a session that is forked has a root', checks.onlyASessionIsForked),
  line(cutScript, 'a session that is over is not forked', checks.aSessionThatIsOverIsNotForked),
  line(cutScript, 'a fork looks at few workers at one moment', checks.aForkTakesFewWorkers),
  line(cutScript, 'a fork holds Redis for few workers', checks.aCutReadsFewWorkersAtOnce),
  line(cutScript, 'a fork holds Redis for few timers and asks', checks.aCutReadsFewTimersAtOnce),
  line(cutScript, 'a fork reads a changed worker again', checks.aCutInPartsShowsOneMoment, {
    condition: 'known',
  }),
  line(cutScript, 'a fork holds Redis for few bytes', checks.aForkTakesFewBytes, {
    token: ['> header.bytesMost', '< 0'],
  }),
  line(cutScript, 'a copy has the retries of its original', checks.aCopyTriesAgain),
  line(prepareForkScript, 'a part of a copy is written once', checks.aPartThatIsSentAgainIsWrittenOnce, {
    value: 'false',
  }),
  line(prepareForkScript, 'a part of a copy is written once', checks.aPieceThatIsSentAgainIsWrittenOnce, {
    value: 'false',
  }),
  line(prepareForkScript, 'a copy that lost a part is not written on', checks.aCopyThatLostAPartIsNotWrittenOn),
  line(
    prepareForkScript,
    'a call that comes late changes nothing of a copy that is there',
    checks.aCallThatComesLateChangesNoCopy,
  ),
  line(prepareForkScript, 'a copy that nobody finishes is removed after a time', checks.aCopyThatNobodyFinishesGoes),
  line(forkScript, 'a copy appears once', checks.aCopyAppearsOnce),
  line(forkScript, 'idempotency key of a fork', checks.aKeyIsOneCopy),
  ...[
    checks.aCopyWithoutAMailboxDoesNotAppear,
    checks.aCopyWithoutItsWorkersDoesNotAppear,
    checks.aCopyWithAShortHistoryDoesNotAppear,
    checks.aCopyWithAShortMailboxDoesNotAppear,
    checks.aCopyThatForgotAnIdDoesNotAppear,
  ].map((check) => line(forkScript, 'a copy that lost a key, or a part of one, does not appear', check)),
  line(forkScript, 'the keys of a copy stay', checks.aCopyStaysOnceItIsThere),
  line(forkScript, 'a worker of a copy that has work is queued', checks.workersOfACopyRun),
  line(forkScript, 'timers of a copy fire', checks.aCopyHasItsTimersAndAsks),
  line(forkScript, 'asks of a copy are in the inbox', checks.aCopyHasItsTimersAndAsks),
  line(forkScript, 'a copy finishes the cancels of its original', checks.aCopyFinishesCancels),
  line(forkScript, 'wake-up rule on fork', checks.aCopyAppearsOnce, { value: "''" }),
  line(commitScript, 'a child spawned in a copy belongs to the copy', checks.aChildBornInACopyIsOfTheCopy),
  line(commitScript, 'a copy sends nothing to its original', checks.aCopySendsNothingToItsOriginal),
]
