--[[ claim – gives a slot the next worker that its node can run, with the right to write for it.
Why a script   choosing, fencing, counting the start and answering the bell must happen together or not at all.
KEYS[1] run       zset     run queue of the pool
KEYS[2] leases    zset     declared
KEYS[3] grants    hash     declared; of this node
KEYS[4] bells     zset
KEYS[5] busy      zset
KEYS[6] slots     string   declared
ARGV[1] pool          ARGV[2] bell         id, or empty when the node answers no bell
ARGV[3] node          ARGV[4] slot         ARGV[5] nonce        fresh for each claim, never derived from the bell
ARGV[6] kinds         the node's kinds in this pool, each with a space before and behind
ARGV[7] maySuspect    1 when the node runs no suspect now
ARGV[8] wasBusy       1 when the bell may be among the busy     ARGV[9] keepBell   1: set the bell anew
ARGV[10] leaseMs      ARGV[11] bellMs      ARGV[12] mailBytes   most bytes of a lane in the answer
ARGV[13] suspectAfter ARGV[14] poisonAfter ARGV[15] leave       1: claim nothing, give the bell back
ARGV[16] seed         names of new bells
Returns {"grant", worker, mark, token, suspect, record, state, control, family, user, awaited} | {"empty"} | {"unfit"} | {"left", bells}
Builds  T:w:<id> and its keys, T:s:<session>:cancelled of the candidates, T:share of the pool, T:run:unhosted; T:events, T:dead and T:timers,
        of which only the sort is looked at.
Events  none. Writes nothing but the bell's removal unless it returns "grant", and takes damaged workers out of the line; "left" may
        write new bells. ]]
local runKey, bellsKey, busyKey = KEYS[1], KEYS[4], KEYS[5]
local pool, bell, node, slot, nonce, kinds, maySuspect = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local wasBusy, keepBell, leaseMs, bellMs, mailBytes = ARGV[8], ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local suspectAfter, poisonAfter, leave, seed = tonumber(ARGV[13]), tonumber(ARGV[14]), ARGV[15], ARGV[16]

local tag = tagOf(runKey)
checkArguments(leaseMs, bellMs, mailBytes, suspectAfter, poisonAfter)
if leave == '1' then
  checkSort('zset', bellsKey, busyKey)
  redis.call('ZREM', bellsKey, bell)
  redis.call('ZREM', busyKey, bell)
  return { 'left', writeBellsOf(tag, { [pool] = true }, seed, nowMs(), bellMs) }
end
local claim = {
  pool = pool, bell = bell, node = node, slot = slot, nonce = nonce, kinds = kinds, maySuspect = maySuspect, wasBusy = wasBusy,
  keepBell = keepBell, leaseMs = leaseMs, bellMs = bellMs, mailBytes = mailBytes, suspectAfter = suspectAfter,
  poisonAfter = poisonAfter,
}
return sameGrant(tag, claim) or claimNext(tag, claim, nowMs())
