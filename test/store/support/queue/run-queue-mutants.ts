/** Mutants of what lines, moved kinds and sessions that end late rest on. */
import {
  announceScript,
  cancelScript,
  claimScript,
  closeScript,
  commitScript,
  createSessionsScript,
  finishScript,
  limitScript,
  lookScript,
  pruneScript,
  retryScript,
  sweepScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant.ts'
import {
  aCancelledRunCannotCommit,
  aChildOfACancelledRunCannotCommit,
  aSweepWakesForWorkersItsNodeCanRun,
} from '../turn/checks.ts'
import * as checks from './run-queue-checks.ts'

export const runQueueMutants: readonly Mutant[] = [
  {
    guard: 'a claim looks past the first ones',
    script: claimScript,
    takenOut: { token: ['512', '32'] },
    check: checks.aClaimPassesWhatItCannotRun,
  },
  {
    guard: 'suspects hide no work behind them',
    script: claimScript,
    takenOut: { value: '0' },
    check: checks.suspectsHideNoWork,
  },
  {
    guard: 'a claim reads little of later workers first',
    script: claimScript,
    takenOut: { operandAfter: 1 },
    check: checks.aClaimPassesWhatItCannotRun,
  },
  {
    guard: 'an assignment holds no more mails than a turn may receive',
    script: claimScript,
    takenOut: { condition: '1000' },
    check: checks.anAssignmentIsNoLargerThanItsTurn,
  },
  {
    guard: 'a sweep looks as far into a run queue as claims do',
    script: sweepScript,
    takenOut: { value: 'batch' },
    check: checks.aSweepWakesPastWorkersItsNodeCannotRun,
  },
  {
    guard: 'a sweep looks at pools without a node',
    script: sweepScript,
    takenOut: { condition: 'false' },
    check: checks.aMovedKindIsFound,
  },
  {
    guard: 'pools are remembered',
    script: sweepScript,
    takenOut: 'line',
    check: checks.aSweepRemembersItsPools,
  },
  {
    guard: 'a queued worker has its pool registered',
    script: createSessionsScript,
    takenOut: 'line',
    check: checks.queueingAWorkerRegistersItsPool,
  },
  {
    guard: 'a node announces its pools with its kinds',
    script: announceScript,
    takenOut: 'line',
    check: checks.anAnnouncedNodeIsWholeAtOnce,
  },
  {
    guard: 'a node announces itself with its kinds',
    script: announceScript,
    takenOut: 'line',
    check: checks.anAnnouncedNodeIsWholeAtOnce,
  },
  {
    guard: 'a sweep notices that its node was not registered',
    script: sweepScript,
    takenOut: { value: 'false' },
    check: checks.aSweepNoticesThatItsNodeWasGone,
  },
  {
    guard: 'a run queue that nobody knows is looked at for its own workers',
    script: lookScript,
    takenOut: 'line',
    check: checks.anUnknownRunQueueIsSeen,
  },
  {
    guard: 'a closed conversation ends with the turn that it was closed in',
    script: commitScript,
    takenOut: { condition: 'false' },
    check: checks.aClosedConversationEndsWithItsTurn,
  },
  {
    guard: 'a cancel reaches workers that outlive its session',
    script: cancelScript,
    takenOut: { operandAfter: 1 },
    check: checks.aCancelReachesWhatOutlivesItsSession,
  },
  {
    guard: 'an ended session is cancelled once',
    script: cancelScript,
    takenOut: { condition: 'true' },
    check: checks.anEndedSessionIsCancelledOnce,
  },
  {
    guard: 'an ended worker stays as it ended',
    script: finishScript,
    takenOut: { operandAfter: 1 },
    check: checks.whatEndedStaysAsItEnded,
  },
  {
    guard: 'a cancel ends all that its session lists',
    script: finishScript,
    takenOut: 'line',
    check: checks.aCancelEndsAWorkerThatLostItsSession,
  },
  {
    guard: 'pruning looks at all workers before it takes any',
    script: pruneScript,
    takenOut: { value: 'true' },
    check: checks.pruningLooksAtAllBeforeItTakesAny,
  },
  {
    guard: 'pruning looks at the root before it takes any',
    script: pruneScript,
    takenOut: 'line',
    check: checks.pruningLooksAtTheRootFirst,
  },
  {
    guard: 'one node makes a pass of pruning',
    script: pruneScript,
    takenOut: 'line',
    check: checks.oneNodeMakesAPassOfPruning,
  },
  {
    guard: 'a pass of pruning outlives its node',
    script: pruneScript,
    takenOut: { value: '0, 0' },
    check: checks.aPassOfPruningOutlivesItsNode,
  },
  {
    guard: 'a sweep sends wake-ups for workers that its node can run',
    script: sweepScript,
    takenOut: { operandAfter: 1 },
    check: aSweepWakesForWorkersItsNodeCanRun,
  },
  {
    guard: 'the cancel count of a session is read from its root',
    script: commitScript,
    takenOut: { condition: 'true' },
    check: aChildOfACancelledRunCannotCommit,
  },
  {
    guard: 'a root has its cancel count in its own record',
    script: commitScript,
    takenOut: { value: 'false' },
    check: aCancelledRunCannotCommit,
  },
  {
    guard: 'an ended run of a child is marked at the root',
    script: commitScript,
    takenOut: 'line',
    check: checks.grandchildrenOfAnEndedRunAreCancelled,
  },
  ...['leases', 'wakeups', 'busy'].map((which) => ({
    guard: `scores that a clock left far ahead come near: ${which}`,
    script: sweepScript,
    takenOut: 'line' as const,
    check: checks.scoresFarAheadComeNear,
  })),
  {
    guard: 'timers move when the clock was set back',
    script: sweepScript,
    takenOut: { condition: 'false' },
    check: checks.timersMoveWithTheClock,
  },
  {
    guard: 'timers set since the clock was set back stay',
    script: sweepScript,
    takenOut: { token: ["'(' .. digits(highest)", "'-inf'"] },
    check: checks.timersMoveWithTheClock,
  },
  ...[cancelScript, closeScript, limitScript, retryScript].map((script) => ({
    guard: `a session that is asked to ${script.file.slice(0, -4)} has a root`,
    script,
    takenOut: { operandAfter: 1 },
    check: checks.theRecordOfAChildIsNoSession,
  })),
]
