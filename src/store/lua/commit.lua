--[[ commit – records a step, or the end of a turn, exactly once; at the end of a turn it claims the slot's next worker.
Why a script   history, state, mail, spawns, the run's outcome and the slot's next claim must happen together or not at all.
KEYS[1] record    hash               KEYS[2] log      list               KEYS[3] user      list
KEYS[4] leases    zset declared      KEYS[5] events   stream declared
ARGV[1] token         ARGV[2] sequence     of this commit under the token, from 1
ARGV[3] version       the version this commit builds on
ARGV[4] runState      state of the run     ARGV[5] open         1 while a run is in progress
ARGV[6] userUsed      mails consumed from the head of the lane
ARGV[7] wait          empty: the turn goes on; else what the worker waits for; again: nothing, it stands in line again
ARGV[8] event         json                 ARGV[9] bellMs       ARGV[10] seed       names of new bells
ARGV[11] entries      count of history entries, then each; then facts: the name of each, then its values. Absent: as without it.
  attempt      "<tries> <what>" of each that waits for its retry, as the node says     retryMs      until then
  state        json, kept in the record    stateKey    json, kept under a key of its own
  failure      json; - : clear it          controlUsed mails consumed from the head of the lane
  familyUsed   positions consumed, comma-separated     familySeen   length for ever the node has seen
  awaits       calls whose results are still to come   awaiting     how many those are, or were when the run ended
  timersOpen   timers of the run that have not been received
  outcome      completed | failed | cancelled: the run ends                result       mail for the parent
  dead         evidence json of a quarantine: a consumed input goes to the dead letters with it, not into the history
  deadKept     length of the stream of dead letters
  spawn        id, kind, name (empty: of its kind and call), pool, how, call, grant (empty: none), mail
               how: 1 detached, 2 this slot takes it at once, 3 both, 0 neither
  eager        node, leaseMs, slot, nonce: of the children that the slot takes
  send         worker, mail                timer       id, ms, json
  leave        bell (empty: none): no claim follows         wasBusy      1: the bell may be among the busy
  claim        bell, nonce, slot, node, kinds, leaseMs, mailBytes, suspectAfter, poisonAfter
  keepBell     1: the claim sets the bell anew              noSuspect    1: the node runs one now
Returns {"ok", version, bells, claimed, spent or nothing, caps or nothing, granted or nothing} | {"fenced", claimed} |
        {"conflict", version} | {"cancelled"} | {"refused", list}
        claimed: nothing, or what claim answers: "grant" and its parts, "empty", "unfit"
        granted: the ids of children that slots took
Builds  T:w:<id> and its keys of this worker, of recipients, children, the parent, the root and the next worker; the keys of
        T:s:<session>; T:dead; T:cancelling; T:timers; T:share, T:nodes, T:wake; for a claim T:run, T:bells, T:busy, T:slots, T:grants.
Events  what the node says happened, then session.completed and its like. Writes nothing unless it returns "ok". ]]
local recordKey, logKey, userKey = KEYS[1], KEYS[2], KEYS[3]
local token, sequence, version, runState, open, userUsed = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local wait, event, bellMs, seed = ARGV[7], ARGV[8], tonumber(ARGV[9]), ARGV[10]
local lists, cursor = ARGV, 11

local tag = tagOf(recordKey)
local worker = string.sub(recordKey, #tag + 4)
local turn = newTurn(worker, recordKey, logKey, userKey, token, sequence, version, runState, open, userUsed, wait, event)
checkArguments(bellMs)
if readCommit(turn, lists, cursor) ~= #lists + 2 then error('each fact should have as many values as the header says', 0) end
local joint = newJoint(bellMs, seed)
local answer = commitTurn(tag, turn, joint)
if joint.last then finishCommits(tag, joint) end
return answer
