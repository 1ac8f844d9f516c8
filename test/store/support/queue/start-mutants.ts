/** Mutants of what concerns children that wait to start. */
import { claimScript, commitScript, finishScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './start-checks.ts'

export const startMutants: readonly Mutant[] = [
  {
    guard: 'children beyond those that run at once wait to start',
    script: commitScript,
    takenOut: { condition: 'true' },
    check: checks.childrenBeyondThoseAtOnceWait,
  },
  {
    guard: 'no slot takes a child that waits to start',
    script: commitScript,
    takenOut: { operandAfter: 3 },
    check: checks.noSlotTakesAChildThatWaits,
  },
  { guard: 'a child starts once', script: commitScript, takenOut: 'line', check: checks.aChildStartsOnce },
  {
    guard: 'a detached child does not wait to start',
    script: commitScript,
    takenOut: { condition: 'true' },
    check: checks.aDetachedChildDoesNotWait,
  },
  {
    guard: 'no more children run at once than their session allows',
    script: commitScript,
    takenOut: { value: 'most or limits.children' },
    check: checks.noMoreRunThanTheSessionAllows,
  },
  {
    guard: 'a parent awaits no more results than a claim may read',
    script: commitScript,
    takenOut: { condition: 'false' },
    check: checks.aParentAwaitsNoMoreResultsThanAClaimMayRead,
  },
  {
    guard: 'children that wait to start are within the limit of children',
    script: commitScript,
    takenOut: { condition: 'own.pendingCount > limits.children' },
    check: checks.noMoreRunThanTheSessionAllows,
  },
  {
    guard: 'a child that was cancelled while it waited never starts',
    script: commitScript,
    takenOut: { condition: 'true' },
    check: checks.aChildCancelledWhileItWaitsNeverStarts,
  },
  {
    guard: 'a child that ended before it started frees no place',
    script: finishScript,
    takenOut: { condition: 'true' },
    check: checks.aChildCancelledWhileItWaitsNeverStarts,
  },
  {
    guard: 'a child that waits to start is cancelled with a result for its parent',
    script: finishScript,
    takenOut: { operandAfter: 2 },
    check: checks.aChildCancelledWhileItWaitsReports,
  },
  {
    guard: 'no child of the next run waits for those of the last',
    script: commitScript,
    takenOut: 'line',
    check: checks.theNextRunCountsAnew,
  },
  {
    guard: 'no child of the next run waits for those of a cancelled one',
    script: finishScript,
    takenOut: 'line',
    check: checks.theRunAfterACancelledOneCountsAnew,
  },
  {
    guard: 'a worker that could not commit is checked first: the siblings that wait to start',
    script: claimScript,
    takenOut: 'line',
    check: checks.noChildIsStartedAgainWhileThoseBehindItAreDamaged,
  },
]
