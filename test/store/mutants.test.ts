/** Each guard of the scripts is held by a test: without the guard, that test goes red. */
import { expect, test } from 'vitest'
import { InvariantError } from '../../src/core/errors.ts'
import type { Script } from '../../src/store/script.ts'
import {
  cancelScript,
  claimScript,
  commitScript,
  finishScript,
  fireScript,
  postScript,
  pruneScript,
  renewScript,
  spawnScript,
  sweepScript,
} from '../../src/store/scripts.ts'
import * as checks from './support/checks.ts'
import { Place } from './support/place.ts'

type AnyScript = Pick<Script<string, string>, 'source' | 'sha' | 'file'>

interface Mutant {
  readonly guard: string
  readonly script: AnyScript
  /** Text of the script, which must be there once. */
  readonly from: string
  readonly to: string
  readonly check: checks.Check
}

const off = 'if false then'

const mutants: readonly Mutant[] = [
  {
    guard: 'token check of commit',
    script: commitScript,
    from: "if record.token ~= token then return { 'fenced', claimedBefore() } end",
    to: '',
    check: checks.aStaleNodeCannotCommit,
  },
  {
    guard: 'token cleared with the lease',
    script: sweepScript,
    from: "'token', string.match(fields.token, '^%d+:')",
    to: "'token', fields.token",
    check: checks.aLeaseTakenAwayFencesAtOnce,
  },
  {
    guard: 'token check of renew',
    script: renewScript,
    from: 'if fields.token ~= token then',
    to: off,
    check: checks.aStaleNodeCannotRenew,
  },
  {
    guard: 'version check',
    script: commitScript,
    from: "if (record.version or '0') ~= version then",
    to: off,
    check: checks.aCommitOnAnotherVersionIsAConflict,
  },
  {
    guard: 'commit id',
    script: commitScript,
    from: 'if commitToken == token and sequence <= tonumber(commitSequence) then',
    to: off,
    check: checks.aCommitSentTwiceIsOk,
  },
  {
    guard: 'sequence of the commit id',
    script: commitScript,
    from: 'sequence <= tonumber(commitSequence)',
    to: 'sequence == tonumber(commitSequence)',
    check: checks.anOlderCommitSentAgainIsOk,
  },
  {
    guard: 'end-of-turn test of the user lane',
    script: commitScript,
    from: "again = ended == nil and redis.call('EXISTS', userKey) == 1",
    to: 'again = false',
    check: checks.inputBeforeTheEndQueuesTheWorker,
  },
  {
    guard: 'end-of-turn test of the family lane',
    script: commitScript,
    from: "if wakes('parked', wait, 'family', unseen[index], seen + index) then again = true end",
    to: '',
    check: checks.aResultBeforeTheEndQueuesTheParent,
  },
  {
    guard: 'end-of-turn test of the control lane',
    script: commitScript,
    from: "    again = redis.call('EXISTS', controlKey) == 1",
    to: 'again = false',
    check: checks.aTimerBeforeTheEndQueuesTheWorker,
  },
  {
    guard: 'run-queue entry on post',
    script: postScript,
    from: "redis.call('ZADD', tag .. ':run:' .. pool, digits(score), id)",
    to: '',
    check: checks.aPostedMessageIsClaimed,
  },
  {
    guard: 'bell rule on post',
    script: postScript,
    from: 'local bells = writeBellsOf(tag, woke.pools, seed, now, bellMs)',
    to: "local bells = ''",
    check: checks.aPostToAnIdleWorkerRings,
  },
  {
    guard: 'bell rule: workers queued',
    script: postScript,
    from: 'local wanted = math.ceil(queued / share)',
    to: 'local wanted = slots',
    check: checks.asManyBellsAsAreQueued,
  },
  {
    guard: 'bell rule: slots that are busy',
    script: postScript,
    from: "slots - redis.call('ZCARD', tag .. ':busy:' .. pool)",
    to: 'slots',
    check: checks.noMoreBellsThanFreeSlots,
  },
  {
    guard: 'bell rule: bells that are out',
    script: postScript,
    from: 'math.min(wanted - out, bellsMost)',
    to: 'math.min(wanted, bellsMost)',
    check: checks.bellsThatAreOutCount,
  },
  {
    guard: 'bell rule: stale bells',
    script: postScript,
    from: "redis.call('ZCOUNT', tag .. ':bells:' .. pool, digits(now), '+inf')",
    to: "redis.call('ZCARD', tag .. ':bells:' .. pool)",
    check: checks.staleBellsDoNotCount,
  },
  {
    guard: 'bell rule after a turn that leaves',
    script: commitScript,
    from: "  if wasBusy == '1' then redis.call('ZREM', busyKey, bell) end\n  woke.pools[pool] = true",
    to: '',
    check: checks.aTurnThatLeavesRingsForTheNext,
  },
  {
    guard: 'bell of a long turn counts as busy',
    script: renewScript,
    from: "redis.call('ZREM', tag .. ':bells:' .. turn.pool, turn.bell)",
    to: '',
    check: checks.aLongTurnsBellIsBusy,
  },
  {
    guard: 'starts counted before any work',
    script: claimScript,
    from: 'local epoch = digits(epochOf(record) + 1)',
    to: 'local epoch = digits(epochOf(record))',
    check: checks.aSuspectRunsAlone,
  },
  {
    guard: 'starts alone',
    script: claimScript,
    from: "changes[#changes + 1] = digits(tonumber(record.alone or '0') + 1)",
    to: "changes[#changes + 1] = '0'",
    check: checks.fiveLostLeasesAreQuarantined,
  },
  {
    guard: 'a suspect runs alone',
    script: claimScript,
    from: "if mark == 'run' and suspect and claim.maySuspect ~= '1' then",
    to: off,
    check: checks.aSuspectRunsAlone,
  },
  {
    guard: 'idempotency key of post',
    script: postScript,
    from: 'if known then',
    to: off,
    check: checks.aPostSentTwiceIsOneMessage,
  },
  {
    guard: 'a session is created once',
    script: spawnScript,
    from: "if redis.call('ZADD', sessionsKey, 'NX', digits(now), sessionId) == 0 then",
    to: "redis.call('ZADD', sessionsKey, digits(now), sessionId)\nif false then",
    check: checks.aSpawnSentTwiceIsOneSession,
  },
  {
    guard: 'idempotency key of spawn',
    script: spawnScript,
    from: 'if known then',
    to: off,
    check: checks.aKeyIsOneSession,
  },
  {
    guard: 'a child is born once',
    script: commitScript,
    from: "if known == 0 or redis.call('EXISTS', workerKey(tag, spawn.id)) == 0 then",
    to: 'if true then',
    check: checks.aRepeatedSpawnIsTheSameChild,
  },
  {
    guard: 'cancel check of commit',
    script: commitScript,
    from: "if hit and outcome ~= 'cancelled' then return { 'cancelled' } end",
    to: '',
    check: checks.aCancelledRunCannotCommit,
  },
  {
    guard: 'path of ancestors in the cancel check',
    script: commitScript,
    from: "for level = 1, tonumber(record.depth or '0') do",
    to: 'for level = 1, 0 do',
    check: checks.aChildOfACancelledRunCannotCommit,
  },
  {
    guard: 'cancel for good, down the path',
    script: commitScript,
    from: "probes[#probes + 1] = string.sub(element, 1, 36) .. ':*'",
    to: 'probes[#probes + 1] = element',
    check: checks.aChildOfACancelledRunCannotCommit,
  },
  {
    guard: 'cancel check of claim',
    script: claimScript,
    from: "mark = 'cancelled'",
    to: "mark = 'run'",
    check: checks.aCancelledWorkerIsNotGrantedToRun,
  },
  {
    guard: 'cancel check of renew',
    script: renewScript,
    from: "hit and 'cancelled' or 'kept'",
    to: "'kept'",
    check: checks.aRenewTellsOfTheCancel,
  },
  {
    guard: 'mark of a cancel',
    script: cancelScript,
    from: "redis.call('SADD', cancelledKey, rootOf(sessionId) .. ':*')",
    to: '',
    check: checks.aCancelledRunCannotCommit,
  },
  {
    guard: 'finish leaves running turns alone',
    script: finishScript,
    from: "if hit and record.state == 'running' then",
    to: off,
    check: checks.aCancelWaitsForRunningTurns,
  },
  {
    guard: 'finish keeps what was cancelled during its pass',
    script: finishScript,
    from: 'or marks ~= marksNow then',
    to: 'then',
    check: checks.whatIsCancelledDuringAPassIsKept,
  },
  {
    guard: 'children of an ended run',
    script: commitScript,
    from: "redis.call('SADD', cancelledKey, worker .. ':' .. run)",
    to: '',
    check: checks.childrenOfAnEndedRunAreCancelled,
  },
  {
    guard: 'limit of depth',
    script: commitScript,
    from: 'if depth + 1 > limits.depth then',
    to: off,
    check: checks.tooDeepIsRefused,
  },
  {
    guard: 'limit of children',
    script: commitScript,
    from: 'elseif awaiting > limits.children then',
    to: 'elseif false then',
    check: checks.tooManyChildrenAreRefused,
  },
  {
    guard: 'limit of workers',
    script: commitScript,
    from: "elseif tonumber(sessionFields[1] or '1') + #born > limits.workers then",
    to: 'elseif false then',
    check: checks.tooManyWorkersAreRefused,
  },
  {
    guard: 'limit of the mailbox, for messages of a commit',
    script: commitScript,
    from: 'elseif inbound[send.worker] > limits.mailbox then',
    to: 'elseif false then',
    check: checks.tooManyMessagesAreRefused,
  },
  {
    guard: 'limit of the mailbox, for a post',
    script: postScript,
    from: "if redis.call('LLEN', userKey) >= limits.mailbox then",
    to: off,
    check: checks.aFullMailboxRefusesAPost,
  },
  {
    guard: 'a finished session takes no messages',
    script: postScript,
    from: "if state ~= 'active' then",
    to: off,
    check: checks.aFinishedSessionRefusesAPost,
  },
  {
    guard: 'a result is for the run that spawned',
    script: commitScript,
    from: "if plan and plan.open == '1' and plan.run == record.parentRun then parentPlan = plan end",
    to: 'parentPlan = plan',
    check: checks.aResultOfAnOldRunIsDropped,
  },
  {
    guard: 'a claim that is known',
    script: claimScript,
    from: 'return sameGrant(tag, claim) or claimNext(tag, claim, nowMs())',
    to: 'return claimNext(tag, claim, nowMs())',
    check: checks.aClaimSentTwiceIsOneGrant,
  },
  {
    guard: 'an older claim',
    script: claimScript,
    from: "return isOlderNonce(claim.nonce, nonce) and { 'empty' } or nil end",
    to: 'return nil end',
    check: checks.anOldClaimTakesNobody,
  },
  {
    guard: 'a retry waits',
    script: postScript,
    from: "if state ~= 'parked' or wait == 'retry' then return false end",
    to: "if state ~= 'parked' then return false end\n  if wait == 'retry' then return true end",
    check: checks.inputDoesNotCutARetryShort,
  },
  {
    guard: 'a place in line behind the last of the session',
    script: commitScript,
    from: 'if last and last >= score then score = last + 1 end',
    to: '',
    check: checks.aLargeSessionStandsInLine,
  },
  {
    guard: 'a timer is taken out as it fires',
    script: fireScript,
    from: "    redis.call('ZREM', timersKey, due[index])\n    if plan then\n",
    to: '    if plan then\n',
    check: checks.aTimerFiresOnce,
  },
  {
    guard: 'a session is kept while something of it may run',
    script: pruneScript,
    from: 'if active then',
    to: off,
    check: checks.aDetachedChildKeepsItsSession,
  },
  {
    guard: 'a sweep puts bells for what its node can run',
    script: sweepScript,
    from: "if kind and string.find(pool.kinds, ' ' .. kind .. ' ', 1, true) then\n        fit",
    to: 'if kind then\n        fit',
    check: checks.aSweepRingsForWhatItsNodeCanRun,
  },
]

function mutate({ source, file }: AnyScript, from: string, to: string): string {
  const pieces = source.split(from)
  if (pieces.length !== 2) throw new Error(`${file} has ${pieces.length - 1} times: ${from}`)
  return pieces.join(to)
}

test.each(mutants)('without its guard a test goes red: $guard', async ({ script, from, to, check }) => {
  const mutant = mutate(script, from, to)
  await using whole = await Place.open()
  await check(whole)
  await using broken = await Place.open()
  broken.wire.replace(script.sha, mutant)
  const red = await check(broken).then(
    () => null,
    (error: unknown) => error,
  )
  expect(red).toBeInstanceOf(Error)
  // A script that cannot run at all proves nothing.
  expect(red).not.toBeInstanceOf(InvariantError)
})
