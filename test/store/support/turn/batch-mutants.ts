/** Mutants of what commits of one script, and children that a slot goes on with, rest on. */
import { commitScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './batch-checks.ts'

export const batchMutants: readonly Mutant[] = [
  {
    guard: 'leases end with the turns',
    script: commitScript,
    takenOut: 'line',
    check: checks.noneThatEndedKeepsALease,
  },
  {
    guard: 'leases end before slots claim',
    script: commitScript,
    takenOut: 'order',
    check: checks.noneThatIsClaimedAgainLosesItsLease,
  },
  {
    guard: 'the wake-up of a slot that finds nothing is removed',
    script: commitScript,
    takenOut: 'line',
    check: checks.aSleepingSlotTakesItsWakeup,
  },
  {
    guard: 'a turn with an error stops no other',
    script: commitScript,
    takenOut: { condition: 'false' },
    check: checks.damageOfOneStopsNoOther,
  },
  {
    guard: 'isolated starts count anew after a commit',
    script: commitScript,
    takenOut: 'line',
    check: checks.whoWasSuspectedIsNoMore,
  },
  {
    guard: 'the record says what a turn that ended waits for',
    script: commitScript,
    takenOut: 'line',
    check: checks.aTurnThatEndsEndsItsWait,
  },
  {
    guard: 'a commit that is sent again answers the children that the slot still holds',
    script: commitScript,
    takenOut: { operandAfter: 1 },
    check: checks.aChildThatALeaseWasTakenFromIsNotGivenAgain,
  },
  {
    guard: 'a child with more mail than its input enters the run queue',
    script: commitScript,
    takenOut: { operandAfter: 2 },
    check: checks.aChildWithMoreMailIsQueued,
  },
  {
    guard: 'no slot runs a child that is cancelled at once',
    script: commitScript,
    takenOut: { operandBefore: 1 },
    check: checks.aChildOfAnEndedRunIsGivenToNoSlot,
  },
  {
    guard: 'a child of a slot has a lease',
    script: commitScript,
    takenOut: 'line',
    check: checks.aChildOfASlotHasALease,
  },
  {
    guard: 'no child runs without a lease',
    script: commitScript,
    takenOut: 'line',
    check: checks.withoutLeasesNoChildRuns,
  },
]
