/** Mutants of what lines, moved kinds and sessions that end late rest on. */
import {
  cancelScript,
  claimScript,
  commitScript,
  finishScript,
  pruneScript,
  sweepScript,
} from '../../../src/store/scripts.ts'
import { aSweepRingsForWhatItsNodeCanRun } from './checks.ts'
import * as checks from './line-checks.ts'
import type { Mutant } from './mutant.ts'

export const lineMutants: readonly Mutant[] = [
  {
    guard: 'a claim looks past the first ones',
    script: claimScript,
    from: 'local readMost, lookMost = 32, 512',
    to: 'local readMost, lookMost = 32, 32',
    check: checks.aClaimPassesWhatItCannotRun,
  },
  {
    guard: 'behind the first ones the kind decides',
    script: claimScript,
    from: 'if from < readMost or mayFit(tag, claim, candidates[index]) then',
    to: 'if from < readMost then',
    check: checks.aClaimPassesWhatItCannotRun,
  },
  {
    guard: 'a grant holds no more mails than a turn may receive',
    script: claimScript,
    from: 'if from == count then return mails, true end',
    to: '',
    check: checks.aGrantIsNoLargerThanItsTurn,
  },
  {
    guard: 'a sweep looks as far as claims do',
    script: sweepScript,
    from: "tag .. ':run:' .. pool.name, 0, lookMost - 1)",
    to: "tag .. ':run:' .. pool.name, 0, batch - 1)",
    check: checks.aSweepRingsPastWhatItsNodeCannotRun,
  },
  {
    guard: 'a pool without a node is looked at',
    script: sweepScript,
    from: "if (totals[name] or 0) == 0 and pcall(checkSort, 'zset', tag .. ':run:' .. name) then",
    to: 'if false then',
    check: checks.aMovedKindIsFound,
  },
  {
    guard: 'pools are remembered',
    script: sweepScript,
    from: "redis.call('HSET', metaKey, 'pools', known)",
    to: '',
    check: checks.aMovedKindIsFound,
  },
  {
    guard: 'a closed conversation ends with the turn that it was closed in',
    script: commitScript,
    from: "if record.mode == 'job' and not (again or outcome or hit)",
    to: 'if false and not (again or outcome or hit)',
    check: checks.aClosedConversationEndsWithItsTurn,
  },
  {
    guard: 'a cancel reaches what outlives its session',
    script: cancelScript,
    from: "if state ~= 'active' and left <= 0 then",
    to: "if state ~= 'active' then",
    check: checks.aCancelReachesWhatOutlivesItsSession,
  },
  {
    guard: 'an ended session is cancelled once',
    script: cancelScript,
    from: "if redis.call('SADD', cancelledKey, rootOf(sessionId) .. ':*') == 1 then",
    to: "redis.call('SADD', cancelledKey, rootOf(sessionId) .. ':*')\nif true then",
    check: checks.anEndedSessionIsCancelledOnce,
  },
  {
    guard: 'what ended stays as it ended',
    script: finishScript,
    from: "or (hasEnded and record.state == 'idle')",
    to: '',
    check: checks.whatEndedStaysAsItEnded,
  },
  {
    guard: 'pruning looks at all workers before it takes any',
    script: pruneScript,
    from: 'plan.goes = plan.last or resting == length',
    to: 'plan.goes = true',
    check: checks.pruningLooksAtAllBeforeItTakesAny,
  },
  {
    guard: 'pruning looks at the root before it takes any',
    script: pruneScript,
    from: 'elseif isLive(workerKey(tag, rootOf(id))) then return nil end',
    to: 'end',
    check: checks.pruningLooksAtTheRootFirst,
  },
  {
    guard: 'one node makes a pass of pruning',
    script: pruneScript,
    from: "if whose ~= node and now - last < everyMs and last <= now then return { 0, 'done', '0' } end",
    to: '',
    check: checks.oneNodeMakesAPassOfPruning,
  },
  {
    guard: 'a pass of pruning outlives its node',
    script: pruneScript,
    from: "from, passed = tonumber(reached or '0'), tonumber(kept or '0')",
    to: 'from, passed = 0, 0',
    check: checks.aPassOfPruningOutlivesItsNode,
  },
  {
    guard: 'a sweep puts bells for what its node can run',
    script: sweepScript,
    from: "if kind and string.find(pool.kinds, ' ' .. kind .. ' ', 1, true) then\n        fit",
    to: 'if kind then\n        fit',
    check: aSweepRingsForWhatItsNodeCanRun,
  },
]
