/** Mutants of what commits of one script, and children that a slot goes on with, rest on. */
import { commitScript } from '../../../src/store/script/scripts.ts'
import * as checks from './batch-checks.ts'
import type { Mutant } from './mutant.ts'

export const batchMutants: readonly Mutant[] = [
  {
    guard: 'leases end with the turns',
    script: commitScript,
    from: 'if #batch.ended > 0 then',
    to: 'if false then',
    check: checks.noneThatEndedKeepsALease,
  },
  {
    guard: 'leases end before slots claim',
    script: commitScript,
    from: "  if #batch.ended > 0 then redis.pcall('ZREM', tag .. ':leases', unpack(batch.ended)) end\n  if #batch.events",
    to: "  writeClaims(tag, batch)\n  batch.claims = {}\n  if #batch.ended > 0 then redis.pcall('ZREM', tag .. ':leases', unpack(batch.ended)) end\n  if #batch.events",
    check: checks.noneThatIsClaimedAgainLosesItsLease,
  },
  {
    guard: 'the wake-up of a slot that finds nothing goes',
    script: commitScript,
    from: "    redis.pcall('ZREM', wakeupsKey, claim.wakeup)\n",
    to: '',
    check: checks.whoSleepsTakesItsWakeupAlong,
  },
  {
    guard: 'a turn that meets an error stops no other',
    script: commitScript,
    from: 'if batch.last then\n    local fine',
    to: 'if false then\n    local fine',
    check: checks.damageOfOneStopsNoOther,
  },
  {
    guard: 'starts alone count anew after a commit',
    script: commitScript,
    from: "if record.isolated then change(turn, 'isolated', atStart.isolated) end",
    to: '',
    check: checks.whoWasSuspectedIsNoMore,
  },
  {
    guard: 'the record says what a turn that ended waits for',
    script: commitScript,
    from: "change(turn, 'wait', wait)",
    to: '',
    check: checks.aTurnThatEndsEndsItsWait,
  },
  {
    guard: 'a slot is told again of children that it still holds',
    script: commitScript,
    from: "isInline(commit.inline, spawn) and redis.pcall('HGET', workerKey(tag, spawn.id), 'token') == '1:' .. commit.inline.nonce",
    to: 'isInline(commit.inline, spawn)',
    check: checks.aChildThatALeaseWasTakenFromIsNotGivenAgain,
  },
  {
    guard: 'a child with more than its input stands in line',
    script: commitScript,
    from: 'return inline and spawn.offered and #spawn.mails == 1',
    to: 'return inline and spawn.offered',
    check: checks.aChildWithMoreMailStandsInLine,
  },
  {
    guard: 'a child that is cancelled as it is born is given to no slot',
    script: commitScript,
    from: 'inline = not commit.outcome and commit.inline',
    to: 'inline = commit.inline',
    check: checks.aChildOfAnEndedRunIsGivenToNoSlot,
  },
  {
    guard: 'a child of a slot has a lease',
    script: commitScript,
    from: "redis.call('ZADD', tag .. ':leases', unpack(leases))\n  redis.pcall('HSET', tag .. ':claims:' .. inline.node, inline.slot, inline.nonce)",
    to: "redis.pcall('HSET', tag .. ':claims:' .. inline.node, inline.slot, inline.nonce)",
    check: checks.aChildOfASlotHasALease,
  },
  {
    guard: 'no child runs where no lease can be written',
    script: commitScript,
    from: "if own.inline then checkSort('zset', tag .. ':leases') end",
    to: '',
    check: checks.withoutLeasesNoChildRuns,
  },
]
