/** Mutants of what a session has spent. */
import { claimScript, commitScript, limitScript } from '../../../src/store/script/scripts.ts'
import type { Mutant } from './mutant.ts'
import * as checks from './spending-checks.ts'

export const spendingMutants: readonly Mutant[] = [
  {
    guard: 'what an agent spent alone counts for all when it has children',
    script: commitScript,
    takenOut: { operandAfter: 3 },
    check: checks.spentBefore,
  },
  {
    guard: 'what a root spent counts for all when it becomes an agent after it had children',
    script: commitScript,
    takenOut: { operandAfter: 2 },
    check: checks.spentByWhoBecameAnAgent,
  },
  {
    guard: 'a root with children is not alone when it becomes an agent',
    script: commitScript,
    takenOut: { operandAfter: 2 },
    check: checks.spentByWhoBecameAnAgent,
  },
  {
    guard: 'only what is new is added',
    script: commitScript,
    takenOut: { value: '0' },
    check: checks.spentByAll,
  },
  {
    guard: 'what others spent stays',
    script: commitScript,
    takenOut: { operandBefore: 1 },
    check: checks.spentByAll,
  },
  {
    guard: 'a commit that is sent again tells what the session has spent',
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.spentOnce,
  },
  {
    guard: 'an assignment tells what the session has spent',
    script: claimScript,
    takenOut: { value: 'false' },
    check: checks.spentBefore,
  },
  {
    guard: 'a limit that is not set anew stays',
    script: limitScript,
    takenOut: { operandBefore: 1 },
    check: checks.limitsAreRaisedOneByOne,
  },
  {
    guard: 'a finished session takes no limit',
    script: limitScript,
    takenOut: { operandBefore: 1 },
    check: checks.aFinishedSessionIsNotRaised,
  },
  {
    guard: 'a cancelled session takes no limit',
    script: limitScript,
    takenOut: { operandAfter: 1 },
    check: checks.aCancelledSessionIsNotRaised,
  },
  {
    guard: 'a session that left detached workers takes a limit',
    script: limitScript,
    takenOut: { value: 'true' },
    check: checks.aSessionThatLeftDetachedAgentsIsRaised,
  },
]
