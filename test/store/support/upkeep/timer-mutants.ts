/** Mutants of what fires and moves timers. */
import { fireScript, sweepScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './timer-checks.ts'

export const timerMutants: readonly Mutant[] = [
  {
    guard: 'a timer is taken out as it fires',
    script: fireScript,
    takenOut: 'line',
    check: checks.aTimerFiresOnce,
  },
  {
    guard: 'a fire posts no more bytes than a script may',
    script: fireScript,
    takenOut: { condition: 'false' },
    check: checks.aFirePostsNoMoreBytesThanAScriptMay,
  },
  {
    guard: 'a sweep moves no more timers than a script may',
    script: sweepScript,
    takenOut: { token: ["'LIMIT', 0, movesMost", "'LIMIT', 0, '-1'"] },
    check: checks.timersMoveSomeAtATime,
  },
  {
    guard: 'a step back of the clock while timers move is seen afterwards',
    script: sweepScript,
    takenOut: { condition: 'true' },
    check: checks.anotherStepBackIsSeen,
  },
]
