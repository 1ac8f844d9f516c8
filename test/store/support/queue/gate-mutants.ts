/** Mutants of what concerns the gates of kinds. */
import {
  commitScript,
  enterScript,
  finishScript,
  fireScript,
  sweepScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant.ts'
import * as checks from './gate-checks.ts'

export const gateMutants: readonly Mutant[] = [
  {
    guard: 'no more runs are in progress than a gate allows',
    script: enterScript,
    takenOut: { token: ['< most', '< 9'] },
    check: checks.noMoreRunsAreInProgress,
  },
  {
    guard: 'no more runs begin within a time than a gate allows',
    script: enterScript,
    takenOut: { value: '0' },
    check: checks.noMoreRunsBeginWithinATime,
  },
  {
    guard: 'a run that begins counts at its gate',
    script: enterScript,
    takenOut: 'line',
    check: checks.noMoreRunsAreInProgress,
  },
  {
    guard: 'a run that begins counts within its time',
    script: enterScript,
    takenOut: 'line',
    check: checks.noMoreRunsBeginWithinATime,
  },
  {
    guard: 'a run that ends waits at no gate',
    script: finishScript,
    takenOut: 'line',
    check: checks.aRunThatIsCancelledLeavesThoseThatWait,
  },
  {
    guard: 'a run that ends frees its place',
    script: commitScript,
    takenOut: 'line',
    check: checks.aRunThatEndsFreesItsPlace,
  },
  {
    guard: 'a free place goes to the next run',
    script: commitScript,
    takenOut: 'line',
    check: checks.aRunThatEndsFreesItsPlace,
  },
  {
    guard: 'a commit answers that somebody waits for the place of its run',
    script: commitScript,
    takenOut: 'line',
    check: checks.aRunThatEndsFreesItsPlace,
  },
  {
    guard: 'a run that waits at a gate no longer leaves its queue',
    script: fireScript,
    takenOut: 'line',
    check: checks.whoDoesNotWaitAnyMoreLeaves,
  },
  {
    guard: 'a place that nobody holds goes to the next run',
    script: fireScript,
    takenOut: 'line',
    check: checks.aPlaceThatNobodyHoldsIsGivenAway,
  },
  {
    guard: 'a run that passes one gate waits at the other',
    script: fireScript,
    takenOut: 'line',
    check: checks.whoPassesOneGateWaitsAtTheOther,
  },
  {
    guard: 'a gate is removed with its last run',
    script: commitScript,
    takenOut: 'line',
    check: checks.aGateGoesWithItsLastRun,
  },
  {
    guard: 'a gate without runs is removed',
    script: fireScript,
    takenOut: 'line',
    check: checks.aGateAtWhichNobodyIsGoes,
  },
  {
    guard: 'a gate opens in time after the clock was set back',
    script: sweepScript,
    takenOut: 'line',
    check: checks.aGateOpensAfterTheClockWasSetBack,
  },
  {
    guard: 'a run waits behind all that came before, even if the clock was set back',
    script: enterScript,
    takenOut: { token: ['math.max(now, tonumber(last) + 1)', 'now'] },
    check: checks.nobodyOvertakesAfterTheClockWasSetBack,
  },
  {
    guard: 'a rate counts no run ahead of the clock',
    script: fireScript,
    takenOut: 'line',
    check: checks.aGateOpensAfterTheClockWasSetBack,
  },
  {
    guard: 'a gate that has gone limits those that wait at the other one',
    script: fireScript,
    takenOut: 'line',
    check: checks.aGateThatHasGoneStillLimits,
  },
  {
    guard: 'a run of a paused session takes no place at a gate',
    script: fireScript,
    takenOut: { condition: 'false' },
    check: checks.aRunOfAPausedSessionTakesNoPlace,
  },
  {
    guard: 'token check of enter',
    script: enterScript,
    takenOut: { condition: 'false' },
    check: checks.aStaleNodeCannotEnter,
  },
  {
    guard: 'a run that waits gets the same answer again',
    script: enterScript,
    takenOut: { condition: 'false' },
    check: checks.aRunThatWaitsIsToldSoAgain,
  },
  { guard: 'a run begins once', script: enterScript, takenOut: { condition: 'false' }, check: checks.aRunBeginsOnce },
  {
    guard: 'cancel check of enter',
    script: enterScript,
    takenOut: { condition: 'false' },
    check: checks.aCancelledRunDoesNotBegin,
  },
  {
    guard: 'a run that waits for a place of its ancestors learns so',
    script: enterScript,
    takenOut: { condition: 'false' },
    check: checks.aRunThatItsAncestorsHoldUpIsTold,
  },
  {
    guard: 'nobody overtakes those that wait at a gate',
    script: enterScript,
    takenOut: { value: 'false' },
    check: checks.nobodyOvertakes,
  },
  {
    guard: 'a worker that waits at a gate keeps its epoch, and is no suspect',
    script: enterScript,
    takenOut: 'line',
    check: checks.whoWaitsKeepsItsEpoch,
  },
  {
    guard: 'a run that has ended does not begin again',
    script: enterScript,
    takenOut: { condition: 'false' },
    check: checks.aRunThatHasEndedDoesNotBeginAgain,
  },
  {
    guard: 'isolated starts of a run that waits at a gate count anew',
    script: enterScript,
    takenOut: { condition: 'false' },
    check: checks.startsOfARunThatWaitsCountAnew,
  },
  {
    guard: 'a run that waits at a gate holds no lease',
    script: enterScript,
    takenOut: 'line',
    check: checks.whoWaitsHoldsNoLease,
  },
  {
    guard: 'a run that waits at a gate before it begins gets no last step',
    script: enterScript,
    takenOut: { condition: 'false' },
    check: checks.aRunThatWaitsBeforeItBeginsGetsNoLastStep,
  },
  {
    guard: 'a retried run that waits at a gate gets a last step',
    script: enterScript,
    takenOut: { value: 'false' },
    check: checks.aRunThatBeganAndWaitsGetsALastStep,
  },
  {
    guard: 'a run that waits at a gate is cancelled with a result for its parent',
    script: finishScript,
    takenOut: { operandAfter: 4 },
    check: checks.aChildThatWaitsReportsItsCancel,
  },
]
