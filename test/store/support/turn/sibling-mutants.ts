/** Mutants of how the records of siblings are written. */
import { commitScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import { siblingsDifferInWhatTheySay } from './sibling-checks.ts'

export const siblingMutants: readonly Mutant[] = [
  {
    guard: 'a child says in what it differs from its sibling',
    script: commitScript,
    takenOut: { condition: 'like' },
    check: siblingsDifferInWhatTheySay,
  },
  {
    guard: 'no child has a field that only its sibling has',
    script: commitScript,
    takenOut: { condition: 'like' },
    check: siblingsDifferInWhatTheySay,
  },
]
