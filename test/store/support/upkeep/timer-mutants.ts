/** Mutants of what fires timers. */
import { fireScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant.ts'
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
]
