/** Mutants of what concerns large results. */
import { claimScript, commitScript, cutScript } from '../../../../src/store/script/scripts.ts'
import * as checks from './large-checks.ts'
import type { Mutant } from './mutant.ts'

export const largeMutants: readonly Mutant[] = [
  {
    guard: 'a large result stands beside its lane',
    script: commitScript,
    takenOut: { operandBefore: 1 },
    check: checks.aLargeResultStandsBesideItsLane,
  },
  {
    guard: 'large results come in the order of their calls',
    script: claimScript,
    takenOut: 'line',
    check: checks.largeResultsComeInTheOrderOfTheirCalls,
  },
  {
    guard: 'a claim reads no more large results than fit',
    script: claimScript,
    takenOut: 'line',
    check: checks.largeResultsComeInTheOrderOfTheirCalls,
  },
  {
    guard: 'a parent learns that a large result is lost',
    script: claimScript,
    takenOut: { token: [" .. 'lost'", ''] },
    check: checks.aLargeResultThatIsLostIsTold,
  },
  {
    guard: 'a large result is removed when it was received',
    script: commitScript,
    takenOut: 'line',
    check: checks.aLargeResultGoesWhenItWasReceived,
  },
  {
    guard: 'large results that nobody received go with their run',
    script: commitScript,
    takenOut: { token: [', largeKeyOf(base)', ''] },
    check: checks.largeResultsGoWithTheirRun,
  },
  {
    guard: 'a copy has the large results of its original',
    script: cutScript,
    takenOut: 'line',
    check: checks.aCopyHasLargeResults,
  },
  {
    guard: 'a commit is whole even if large results cannot be kept',
    script: commitScript,
    takenOut: 'line',
    check: checks.aLargeResultThatCannotBeKeptTearsNoCommit,
  },
]
