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
ARGV[8] wasBusy       1 when the bell may be among the busy
ARGV[9] leaseMs       ARGV[10] bellMs      ARGV[11] mailBytes   most bytes of a lane in the answer
ARGV[12] suspectAfter ARGV[13] poisonAfter ARGV[14] leave       1: claim nothing, give the bell back
ARGV[15] seed         names of new bells
Returns {"grant", worker, mark, fields, control, family, user, more, suspect} | {"empty"} | {"unfit"} | {"left", bells}
Builds  T:w:<id> and its keys, T:s:<session>:cancelled of the candidates.
Events  none. Writes nothing but the bell's removal unless it returns "grant"; "left" may write new bells. ]]
local runKey, bellsKey, busyKey = KEYS[1], KEYS[4], KEYS[5]
local pool, bell, node, slot, nonce, kinds, maySuspect = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local wasBusy, leaseMs, bellMs, mailBytes = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local suspectAfter, poisonAfter, leave, seed = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14], ARGV[15]

local tag = tagOf(runKey)
if leave == '1' then
  redis.call('ZREM', bellsKey, bell)
  redis.call('ZREM', busyKey, bell)
  return { 'left', writeBells(tag, pool, seed, nowMs(), bellMs, bellsMost) }
end
local claim = {
  pool = pool, bell = bell, node = node, slot = slot, nonce = nonce, kinds = kinds, maySuspect = maySuspect, wasBusy = wasBusy,
  leaseMs = leaseMs, bellMs = bellMs, mailBytes = mailBytes, suspectAfter = suspectAfter, poisonAfter = poisonAfter,
}
return sameGrant(tag, claim) or claimNext(tag, claim, nowMs())
