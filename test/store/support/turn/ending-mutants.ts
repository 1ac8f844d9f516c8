/** Mutants of what cancels have still to end, and of what an ended run leaves behind. */
import {
  cancelScript,
  cancelWorkerScript,
  commitScript,
  finishScript,
  forkScript,
  sweepScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './ending-checks.ts'

const lines = [
  [
    'results that an ended run dropped are none that a later run waits for',
    commitScript,
    checks.resultsThatARunDroppedAreNotAwaited,
  ],
  ['a cancel of a session looks at all of its workers', cancelScript, checks.aCancelOfASessionReachesAll],
  ['a cancel of a worker looks at all of its session', cancelWorkerScript, checks.aCancelOfAWorkerReachesAllBelowIt],
  ['a cancel of a run looks at its worker', cancelWorkerScript, checks.aCancelOfARunReachesItsWorker],
  [
    'a step that cancels children has all of its session looked at',
    commitScript,
    checks.childrenWhoseCallWasInterruptedEnd,
  ],
  [
    'children of an ended run are looked for if nobody names them',
    commitScript,
    checks.childrenOfAnEndedRunAreLookedFor,
  ],
  ['children of an ended run that are named are looked at', commitScript, checks.namedChildrenOfAnEndedRunEnd],
  [
    'a child that has reported goes on when the run of its parent is cancelled',
    commitScript,
    checks.aChildThatHasReportedGoesOn,
  ],
  [
    'what a reported child spawned goes on when the run of its parent is cancelled',
    commitScript,
    checks.aChildThatHasReportedGoesOn,
  ],
  ['nodes learn of cancelled children of an ended run', commitScript, checks.aRunThatEndsTellsNodesOfItsChildren],
  ['children of a run that a finish has ended are cancelled too', finishScript, checks.namedChildrenOfAnEndedRunEnd],
  ['a turn that still runs is looked at again', finishScript, checks.aTurnThatRunsIsLookedAtAgain],
  ['a worker that cannot be ended yet is looked at again', finishScript, checks.aTurnThatRunsIsLookedAtAgain],
  ['a cancel is finished when all its workers have ended', finishScript, checks.aTurnThatRunsIsLookedAtAgain],
  ['a copy looks at all cancels that its original was to finish', forkScript, checks.aCopyEndsWhatItsOriginalWasToEnd],
] as const

export const endingMutants: readonly Mutant[] = [
  ...lines.map(([guard, script, check]) => ({ guard, script, takenOut: 'line' as const, check })),
  {
    guard: 'one of simultaneous sweeps heals',
    script: sweepScript,
    takenOut: { value: 'true' },
    check: checks.ofSweepsAtTheSameMomentOneHasTheTurn,
  },
]
