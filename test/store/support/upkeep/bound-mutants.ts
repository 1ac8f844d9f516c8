/** Mutants of what bounds the work of one script. */
import {
  claimScript,
  commitScript,
  deliveredScript,
  finishScript,
  fireScript,
  limitScript,
  lookScript,
  resumeScript,
  sweepScript,
} from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant/mutant.ts'
import * as checks from './bound-checks.ts'

export const boundMutants: readonly Mutant[] = [
  {
    guard: 'a finish drops no more timers and asks than a script may',
    script: finishScript,
    takenOut: { condition: 'false' },
    check: checks.aFinishDropsNoMoreThanAScriptMay,
  },
  {
    guard: 'a run that drops many timers and asks ends in a script of its own',
    script: commitScript,
    takenOut: { condition: 'false' },
    check: checks.runsThatDropManyTimersEndOneByOne,
  },
  {
    guard: 'claims of one script read no more than a script may',
    script: commitScript,
    takenOut: { condition: 'true' },
    check: checks.claimsOfOneScriptReadNoMoreThanItMay,
  },
  ...[
    'an assignment holds no more bytes of mail than a claim may read',
    'an assignment reads no mail behind the first one that does not fit',
  ].map((guard) => ({
    guard,
    script: claimScript,
    takenOut: 'line' as const,
    check: checks.anAssignmentHoldsFewBytes,
  })),
  {
    guard: 'a claim looks at no more workers than a script may',
    script: claimScript,
    takenOut: { condition: 'false' },
    check: checks.aClaimLooksAtNoMoreWorkersThanItMay,
  },
  {
    guard: 'a claim looks at no more queues of kinds than a script may',
    script: claimScript,
    takenOut: { condition: 'false' },
    check: checks.aClaimLooksAtNoMoreQueuesThanItMay,
  },
  {
    guard: 'a mail of an outbox is removed once',
    script: deliveredScript,
    takenOut: { value: 'true' },
    check: checks.aMailOfAnOutboxIsRemovedOnce,
  },
  {
    guard: 'a limit looks at all workers, however many calls that takes',
    script: limitScript,
    takenOut: { value: 'false' },
    check: checks.aLimitLooksAtAllWorkers,
  },
  {
    guard: 'a fire lets no more runs begin than a script may',
    script: fireScript,
    takenOut: { condition: 'false' },
    check: checks.aFireLetsNoMoreRunsBeginThanItMay,
  },
  {
    guard: 'a resume brings back no more workers than a script may',
    script: resumeScript,
    takenOut: { token: ['most - 1', '-1'] },
    check: checks.aResumeBringsBackSomeAtATime,
  },
  {
    guard: 'a resume that goes on, or is sent again, ends no pause that came later',
    script: resumeScript,
    takenOut: 'line',
    check: checks.aLaterPauseStands,
  },
  {
    guard: 'a worker that a resume has left is no finding',
    script: lookScript,
    takenOut: { token: ['== 1', '== 2'] },
    check: checks.whoAResumeHasLeftIsNoFinding,
  },
  {
    guard: 'nodes bring back the workers that a resume has left',
    script: resumeScript,
    takenOut: { condition: 'false' },
    check: checks.nodesGoOnWithAResume,
  },
  {
    guard: 'a session that is paused again keeps its workers',
    script: fireScript,
    takenOut: { operandAfter: 1 },
    check: checks.aSessionThatIsPausedAgainKeepsItsWorkers,
  },
  {
    guard: 'an audit reads few timers and asks at once',
    script: lookScript,
    takenOut: { condition: 'false' },
    check: checks.anAuditReadsFewTimersAtOnce,
  },
  {
    guard: 'an audit looks for few workers in a long list at once',
    script: lookScript,
    takenOut: 'line',
    check: checks.anAuditLooksForFewInALongList,
  },
  {
    guard: 'an audit reads few bytes of mails at once',
    script: lookScript,
    takenOut: 'line',
    check: checks.anAuditReadsFewBytesOfMails,
  },
  {
    guard: 'a sweep looks at no more workers that may have to go than a script may',
    script: sweepScript,
    takenOut: { token: ['math.min(count, looksLeft)', 'count'] },
    check: checks.aSweepMovesNoMoreWorkersThanItMay,
  },
  {
    guard: 'a sweep looks at no more pools than a script may',
    script: sweepScript,
    takenOut: { token: ['100', '300'] },
    check: checks.aSweepLooksAtNoMorePoolsThanItMay,
  },
]
