--[[ claim – gives a slot the next worker that its node can run, with the right to write for it.
Why a script   choosing, fencing, counting the start and answering the wake-up must happen together or not at all.
KEYS[1] run       zset     run queue of the pool
KEYS[2] leases    zset     declared
KEYS[3] claims    hash     declared; of this node
KEYS[4] wakeups     zset     declared
KEYS[5] busy      zset     declared
ARGV[1] pool          ARGV[2] wakeup         id, or empty when the node answers no wakeup
ARGV[3] node          ARGV[4] slot         ARGV[5] nonce        fresh for each claim, never derived from the wakeup
ARGV[6] kinds         the node's kinds in this pool, each with a space before and behind; those that spawn nothing behind a !
ARGV[7] maySuspect    1 when the node runs no suspect now
ARGV[8] wasBusy       1 when the wakeup may be among the busy     ARGV[9] keepWakeup   1: set the wakeup anew
ARGV[10] leaseMs      ARGV[11] wakeupMs      ARGV[12] mailBytes   most bytes of a lane in the answer
ARGV[13] suspectAfter ARGV[14] poisonAfter
Returns {"assigned", worker, purpose, token, suspect, record, state, signals, results, inbox, awaited, spent, caps} | {"empty"} | {"unfit"}
Builds  T:w:<id> and its keys, T:w:<root> and the keys of T:s:<session> of the candidates, those of their parents, T:run:unhosted;
        T:events, T:dead, T:timers and T:cancelling, of which only the sort is looked at.
Events  none. Unless it returns "assignment" it writes no more than that the wake-up is answered, and who should not stand in line goes out of it. ]]
local runKey = KEYS[1]
local pool, wakeup, node, slot, nonce, kinds, maySuspect = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local wasBusy, keepWakeup, leaseMs, wakeupMs, mailBytes = ARGV[8], ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local suspectAfter, poisonAfter = tonumber(ARGV[13]), tonumber(ARGV[14])

local tag = tagOf(runKey)
checkArguments(leaseMs, wakeupMs, mailBytes, suspectAfter, poisonAfter)
local claim = {
  pool = pool, wakeup = wakeup, node = node, slot = slot, nonce = nonce, kinds = kinds, maySuspect = maySuspect, wasBusy = wasBusy,
  keepWakeup = keepWakeup, leaseMs = leaseMs, wakeupMs = wakeupMs, mailBytes = mailBytes, suspectAfter = suspectAfter,
  poisonAfter = poisonAfter,
}
return sameAssignment(tag, claim) or claimNext(tag, claim, nowMs())
