/** Mutants of what commits that go together, and children that a slot goes on with, rest on. */
import { commitScript, commitsScript } from '../../../src/store/script/scripts.ts'
import * as checks from './joint-checks.ts'
import type { Mutant } from './mutant.ts'

export const jointMutants: readonly Mutant[] = [
  {
    guard: 'results are there before their parent ends its turn',
    script: commitsScript,
    from: 'if waiting then',
    to: 'if false then',
    check: checks.aResultIsThereBeforeItsParentEnds,
  },
  {
    guard: 'what a root says is read again once it was changed',
    script: commitsScript,
    from: 'if #ofRoot > 0 then joint.shared[rootKey] = nil end',
    to: '',
    check: checks.siblingsSpendTogether,
  },
  {
    guard: 'leases end with the turns',
    script: commitsScript,
    from: 'if #joint.ended > 0 then',
    to: 'if false then',
    check: checks.noneThatEndedKeepsALease,
  },
  {
    guard: 'leases end before slots claim',
    script: commitsScript,
    from: "  if #joint.ended > 0 then redis.pcall('ZREM', tag .. ':leases', unpack(joint.ended)) end\n  local woke = joint.woke\n  writeScores(tag, woke)",
    to: "  local woke = joint.woke\n  writeScores(tag, woke)\n  claimAll(tag, joint)\n  joint.claims = {}\n  if #joint.ended > 0 then redis.pcall('ZREM', tag .. ':leases', unpack(joint.ended)) end",
    check: checks.noneThatIsClaimedAgainLosesItsLease,
  },
  {
    guard: 'the bells of all slots that sleep go',
    script: commitsScript,
    from: "for pool, bells in pairs(asleep) do redis.pcall('ZREM', tag .. ':bells:' .. pool, unpack(bells)) end",
    to: '',
    check: checks.whoSleepsTakesItsBellAlong,
  },
  {
    guard: 'slots claim together only while those who are first fit',
    script: commitsScript,
    from: 'if not (fine and found) then break end',
    to: 'if not (fine and found) then found = plans[index - 1] end',
    check: checks.eachSlotGetsAWorkerOfItsOwn,
  },
  {
    guard: 'a turn that meets an error stops no other',
    script: commitsScript,
    from: 'if not fine and not joint.last then error(answer, 0) end',
    to: 'if not fine then error(answer, 0) end',
    check: checks.damageOfOneStopsNoOther,
  },
  {
    guard: 'starts alone count anew after a commit',
    script: commitScript,
    from: "if record.alone then change(turn, 'alone', '0') end",
    to: '',
    check: checks.whoWasSuspectedIsNoMore,
  },
  {
    guard: 'the record says what a turn that ended waits for',
    script: commitScript,
    from: "change(turn, 'wait', wait, 'any')",
    to: '',
    check: checks.aTurnThatEndsEndsItsWait,
  },
  {
    guard: 'a slot is told again of children that it still holds',
    script: commitScript,
    from: "isEager(turn.eager, spawn) and redis.pcall('HGET', workerKey(tag, spawn.id), 'token') == '1:' .. turn.eager.nonce",
    to: 'isEager(turn.eager, spawn)',
    check: checks.aChildThatALeaseWasTakenFromIsNotGivenAgain,
  },
  {
    guard: 'a child with more than its input stands in line',
    script: commitScript,
    from: 'return eager and spawn.isOffered and #spawn.mails == 1',
    to: 'return eager and spawn.isOffered',
    check: checks.aChildWithMoreMailStandsInLine,
  },
  {
    guard: 'a child that is cancelled as it is born is given to no slot',
    script: commitScript,
    from: 'eager = not outcome and turn.eager',
    to: 'eager = turn.eager',
    check: checks.aChildOfAnEndedRunIsGivenToNoSlot,
  },
  {
    guard: 'a child of a slot has a lease',
    script: commitScript,
    from: "redis.call('ZADD', tag .. ':leases', unpack(leases))\n  redis.pcall('HSET', tag .. ':grants:' .. eager.node, eager.slot, eager.nonce)",
    to: "redis.pcall('HSET', tag .. ':grants:' .. eager.node, eager.slot, eager.nonce)",
    check: checks.aChildOfASlotHasALease,
  },
  {
    guard: 'no child runs where no lease can be written',
    script: commitScript,
    from: "if own.eager then checkSort('zset', tag .. ':leases') end",
    to: '',
    check: checks.withoutLeasesNoChildRuns,
  },
]
