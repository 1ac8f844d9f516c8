/** Each guard of the scripts is held by a test: without the guard, that test goes red. */
import { expect, test } from 'vitest'
import { markedSource } from '../../src/store/script/script-source.ts'
import * as scripts from '../../src/store/script/scripts.ts'
import {
  cancelScript,
  claimScript,
  commitScript,
  finishScript,
  postScript,
  pruneScript,
  renewScript,
  sweepScript,
} from '../../src/store/script/scripts.ts'
import { allowanceMutants } from './support/limit/allowance-mutants.ts'
import { costMutants } from './support/limit/cost-mutants.ts'
import { permissionMutants } from './support/limit/permission-mutants.ts'
import { spendingMutants } from './support/limit/spending-mutants.ts'
import { letterMutants } from './support/mail/letter-mutants.ts'
import { sendMutants } from './support/mail/send-mutants.ts'
import { steerMutants } from './support/mail/steer-mutants.ts'
import { largeMutants } from './support/mutant/large-mutants.ts'
import { expectRedWithout, guardsOf, type Mutant } from './support/mutant/mutant.ts'
import { withNames } from './support/mutant/mutant-names.ts'
import { amendMutants } from './support/person/amend-mutants.ts'
import { approvalMutants } from './support/person/approval-mutants.ts'
import { askMutants } from './support/person/ask-mutants.ts'
import { pauseMutants } from './support/person/pause-mutants.ts'
import { fairMutants } from './support/queue/fair-mutants.ts'
import { gateMutants } from './support/queue/gate-mutants.ts'
import { guestMutants } from './support/queue/guest-mutants.ts'
import { runQueueMutants } from './support/queue/run-queue-mutants.ts'
import { startMutants } from './support/queue/start-mutants.ts'
import { wakeupMutants } from './support/queue/wakeup-mutants.ts'
import { blobMutants } from './support/session/blob-mutants.ts'
import { createMutants } from './support/session/create-mutants.ts'
import { endMutants } from './support/session/end-mutants.ts'
import { forkMutants } from './support/session/fork-mutants.ts'
import { retryMutants } from './support/session/retry-mutants.ts'
import * as agentChecks from './support/turn/agent-checks.ts'
import { batchMutants } from './support/turn/batch-mutants.ts'
import { cancelMutants } from './support/turn/cancel-mutants.ts'
import * as checks from './support/turn/checks.ts'
import { endingMutants } from './support/turn/ending-mutants.ts'
import { releaseMutants } from './support/turn/release-mutants.ts'
import { siblingMutants } from './support/turn/sibling-mutants.ts'
import { boundMutants } from './support/upkeep/bound-mutants.ts'
import { notifyMutants } from './support/upkeep/notify-mutants.ts'
import { outboxMutants } from './support/upkeep/outbox-mutants.ts'
import { packMutants } from './support/upkeep/pack-mutants.ts'
import { restMutants } from './support/upkeep/rest-mutants.ts'
import { timerMutants } from './support/upkeep/timer-mutants.ts'

const mutants: readonly Mutant[] = [
  {
    guard: 'token check of commit',
    script: commitScript,
    takenOut: { operandAfter: 1 },
    check: checks.aStaleNodeCannotCommit,
  },
  {
    guard: 'token cleared with the lease',
    script: sweepScript,
    takenOut: { value: 'fields.token' },
    check: checks.aLeaseTakenAwayFencesAtOnce,
  },
  {
    guard: 'token check of renew',
    script: renewScript,
    takenOut: { condition: 'false' },
    check: checks.aStaleNodeCannotRenew,
  },
  {
    guard: 'a commit on another version is a conflict',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCommitOnAnotherVersionIsAConflict,
  },
  {
    guard: 'commit id',
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.aCommitSentTwiceIsOk,
  },
  {
    guard: 'sequence of the commit id',
    script: commitScript,
    takenOut: { token: ['<=', '=='] },
    check: checks.anOlderCommitSentAgainIsOk,
  },
  {
    guard: 'end-of-turn test of the inbox lane',
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.inputBeforeTheEndQueuesTheWorker,
  },
  {
    guard: 'end-of-turn test of results that are counted',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCountOfResultsBeforeTheEndQueuesTheParent,
  },
  {
    guard: 'end-of-turn test of the results lane',
    script: commitScript,
    takenOut: 'line',
    check: checks.aResultBeforeTheEndQueuesTheParent,
  },
  {
    guard: 'end-of-turn test of the signals lane',
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.aTimerBeforeTheEndQueuesTheWorker,
  },
  {
    guard: 'a post puts its worker into the run queue',
    script: postScript,
    takenOut: { value: '0' },
    check: checks.aPostedMessageIsClaimed,
  },
  {
    guard: 'wake-up rule on post',
    script: postScript,
    takenOut: { value: "''" },
    check: checks.aPostToAnIdleWorkerAddsAWakeup,
  },
  {
    guard: 'wake-up rule: workers queued',
    script: postScript,
    takenOut: { value: 'slots' },
    check: checks.asManyWakeupsAsAreQueued,
  },
  {
    guard: 'wake-up rule: slots that are busy',
    script: postScript,
    takenOut: { value: '0' },
    check: checks.noMoreWakeupsThanFreeSlots,
  },
  {
    guard: 'wake-up rule: wake-ups that are out',
    script: postScript,
    takenOut: { value: 'wanted' },
    check: checks.wakeupsThatAreOutCount,
  },
  {
    guard: 'wake-up rule: stale wake-ups',
    script: postScript,
    takenOut: { value: "'-inf'" },
    check: checks.staleWakeupsDoNotCount,
  },
  {
    guard: 'wake-up rule after a turn that leaves',
    script: commitScript,
    takenOut: 'line',
    check: checks.aTurnThatLeavesAddsAWakeup,
  },
  {
    guard: 'wake-up of a long turn counts as busy',
    script: renewScript,
    takenOut: 'line',
    check: checks.aLongTurnsWakeupIsBusy,
  },
  {
    guard: 'starts counted before any work',
    script: claimScript,
    takenOut: { token: ['1', '0'] },
    check: checks.aSuspectRunsAlone,
  },
  {
    guard: 'isolated starts are counted',
    script: claimScript,
    takenOut: { value: "'0'" },
    check: checks.fiveLostLeasesAreQuarantined,
  },
  {
    guard: 'a suspect runs only where no other suspect does',
    script: claimScript,
    takenOut: 'line',
    check: checks.aSuspectRunsAlone,
  },
  {
    guard: 'idempotency key of post',
    script: postScript,
    takenOut: 'line',
    check: checks.aPostSentTwiceIsOneMessage,
  },
  {
    guard: 'a child is created once',
    script: commitScript,
    takenOut: { condition: 'true' },
    check: checks.aRepeatedSpawnIsTheSameChild,
  },
  {
    guard: 'cancel check of commit',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCancelledRunCannotCommit,
  },
  {
    guard: 'end of a cancel that was lost',
    script: commitScript,
    takenOut: 'line',
    check: checks.aCancelThatWasLostHasNoEnd,
  },
  {
    guard: 'the cancel check looks at all ancestors',
    script: commitScript,
    takenOut: { condition: '0' },
    check: checks.aChildOfACancelledRunCannotCommit,
  },
  {
    guard: 'a cancel for good reaches the whole path of a child',
    script: commitScript,
    takenOut: 'line',
    check: checks.aChildOfACancelledRunCannotCommit,
  },
  {
    guard: 'cancel check of claim',
    script: claimScript,
    takenOut: { value: "'run'" },
    check: checks.aCancelledWorkerIsNotAssignedToRun,
  },
  {
    guard: 'cancel check of renew',
    script: renewScript,
    takenOut: { value: "'kept'" },
    check: checks.aRenewalReportsTheCancel,
  },
  {
    guard: 'a cancel is written into the set of its session',
    script: cancelScript,
    takenOut: { value: 'true' },
    check: checks.aCancelledRunCannotCommit,
  },
  {
    guard: 'a finish does not end running turns',
    script: finishScript,
    takenOut: { condition: 'false' },
    check: checks.aCancelWaitsForRunningTurns,
  },
  {
    guard: 'children of an ended run',
    script: commitScript,
    takenOut: 'line',
    check: checks.childrenOfAnEndedRunAreCancelled,
  },
  {
    guard: 'no child is deeper than the limit',
    script: commitScript,
    takenOut: { condition: 'false' },
    check: checks.tooDeepIsRefused,
  },
  {
    guard: 'a parent awaits no more children than its limit',
    script: commitScript,
    takenOut: { condition: 'false' },
    check: checks.tooManyChildrenAreRefused,
  },
  {
    guard: 'a session has no more workers than its limit',
    script: commitScript,
    takenOut: { condition: 'false' },
    check: checks.tooManyWorkersAreRefused,
  },
  {
    guard: 'permissions of a child (permission_check_off)',
    script: commitScript,
    takenOut: 'line',
    check: agentChecks.permissionsThatAreTooWideAreRefused,
  },
  {
    guard: 'a child has no folder outside that of its parent',
    script: commitScript,
    takenOut: { operandAfter: 1 },
    check: agentChecks.aStepUpOutOfTheFolderIsRefused,
  },
  {
    guard: 'a worker spawns only kinds that its permissions name',
    script: commitScript,
    takenOut: { value: 'true' },
    check: agentChecks.aKindThatThePermissionsLackIsRefused,
  },
  {
    guard: 'open calls of an agent that nobody runs',
    script: finishScript,
    takenOut: { condition: 'false' },
    check: agentChecks.aCancelledAgentRestsWithResults,
  },
  {
    guard: 'a finish does not end an agent that has moved on',
    script: finishScript,
    takenOut: { operandAfter: 2 },
    check: agentChecks.anAgentThatMovedOnIsLeft,
  },
  {
    guard: 'messages of a commit are refused by a full mailbox',
    script: commitScript,
    takenOut: 'line',
    check: checks.tooManyMessagesAreRefused,
  },
  {
    guard: 'a post is refused by a full mailbox',
    script: postScript,
    takenOut: 'line',
    check: checks.aFullMailboxRefusesAPost,
  },
  {
    guard: 'a finished session takes no input',
    script: postScript,
    takenOut: 'line',
    check: checks.aFinishedSessionRefusesAPost,
  },
  {
    guard: 'a result goes only to the run that spawned the child',
    script: commitScript,
    takenOut: { condition: 'plan' },
    check: checks.aResultOfAnOldRunIsDropped,
  },
  {
    guard: 'a claim that is sent again is answered again',
    script: claimScript,
    takenOut: { operandBefore: 1 },
    check: checks.aClaimSentTwiceIsOneAssignment,
  },
  {
    guard: 'a claim older than the last one of its slot is not answered',
    script: claimScript,
    takenOut: { value: 'false' },
    check: checks.anOldClaimTakesNobody,
  },
  {
    guard: 'a retry waits',
    script: postScript,
    takenOut: { token: ['false', 'true'] },
    check: checks.inputDoesNotCutARetryShort,
  },
  {
    guard: 'a worker is queued behind the last one of its session',
    script: commitScript,
    takenOut: 'line',
    check: checks.aLargeSessionStandsInLine,
  },
  {
    guard: 'a session is kept while a worker of it may run',
    script: pruneScript,
    takenOut: 'line',
    check: checks.aDetachedChildKeepsItsSession,
  },
]

const all = [
  ...mutants,
  ...largeMutants,
  ...letterMutants,
  ...releaseMutants,
  ...runQueueMutants,
  ...wakeupMutants,
  ...endMutants,
  ...endingMutants,
  ...fairMutants,
  ...restMutants,
  ...retryMutants,
  ...amendMutants,
  ...sendMutants,
  ...cancelMutants,
  ...costMutants,
  ...notifyMutants,
  ...spendingMutants,
  ...approvalMutants,
  ...askMutants,
  ...batchMutants,
  ...boundMutants,
  ...outboxMutants,
  ...packMutants,
  ...pauseMutants,
  ...createMutants,
  ...startMutants,
  ...timerMutants,
  ...gateMutants,
  ...guestMutants,
  ...forkMutants,
  ...steerMutants,
  ...allowanceMutants,
  ...blobMutants,
  ...permissionMutants,
  ...siblingMutants,
]

test('each guard that the scripts name has a mutant, and each mutant names a guard', () => {
  const marked = Object.values(scripts).flatMap(({ file }) => markedSource(file).split('\n').flatMap(guardsOf))
  expect([...new Set(all.map(({ guard }) => guard))].sort()).toEqual([...new Set(marked)].sort())
})

// `npm run mutants` reads these titles.
for (const mutant of withNames(all)) {
  test(`without its guard a test goes red: ${mutant.guard} [${mutant.caughtBy}]`, async () => {
    await expect(expectRedWithout(mutant)).resolves.toBeUndefined()
  })
}
