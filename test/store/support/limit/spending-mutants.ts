/** Mutants of what a session has spent. */
import { claimScript, commitScript, limitScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './spending-checks.ts'

export const spendingMutants: readonly Mutant[] = [
  {
    guard: 'the spending of a lone agent counts for its session once it has children',
    script: commitScript,
    takenOut: { operandAfter: 3 },
    check: checks.spentBefore,
  },
  {
    guard: 'the spending of a root counts for its session when it becomes an agent after it had children',
    script: commitScript,
    takenOut: { operandAfter: 2 },
    check: checks.spentByWhoBecameAnAgent,
  },
  {
    guard: 'a root that becomes an agent counts with its children',
    script: commitScript,
    takenOut: { operandAfter: 2 },
    check: checks.spentByWhoBecameAnAgent,
  },
  {
    guard: 'a commit adds only new spending',
    script: commitScript,
    takenOut: { value: '0' },
    check: checks.spentByAll,
  },
  {
    guard: 'a commit adds only new tool calls',
    script: commitScript,
    takenOut: { value: 'toolCalls' },
    check: checks.spentByAll,
  },
  {
    guard: 'the spending of other agents stays',
    script: commitScript,
    takenOut: { operandBefore: 1 },
    check: checks.spentByAll,
  },
  {
    guard: "a commit that is sent again answers the session's spending",
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.spentOnce,
  },
  {
    guard: "an assignment holds the session's spending",
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
    guard: 'a limit that is sent again undoes no later one',
    script: limitScript,
    takenOut: 'line',
    check: checks.aLimitThatIsSentAgainUndoesNoLaterOne,
  },
  {
    guard: 'a finished session takes no limit',
    script: limitScript,
    takenOut: 'line',
    check: checks.aFinishedSessionIsNotRaised,
  },
  {
    guard: 'a worker that has ended keeps no session open for limits',
    script: limitScript,
    takenOut: { value: 'false' },
    check: checks.aSessionWhoseChildrenEndedIsNotRaised,
  },
  {
    guard: 'a worker that is being cancelled keeps no session open for limits',
    script: limitScript,
    takenOut: { operandAfter: 1 },
    check: checks.aCancelledSessionIsNotRaised,
  },
  {
    guard: 'a session that left detached workers takes a limit',
    script: limitScript,
    takenOut: { operandAfter: 1 },
    check: checks.aSessionThatLeftDetachedAgentsIsRaised,
  },
]
