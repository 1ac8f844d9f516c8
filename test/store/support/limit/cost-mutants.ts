/** Mutants of what model calls cost. */
import { commitScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './cost-checks.ts'

export const costMutants: readonly Mutant[] = [
  {
    guard: 'the cost of other agents stays',
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.costOfAll,
  },
  {
    guard: 'stored usage expires',
    script: commitScript,
    takenOut: 'line',
    check: checks.usageGoes,
  },
]
