--[[ commit – records steps, and the ends of turns, each exactly once; where a turn ends it claims its slot's next worker. It takes the commits that
several turns of a node have at the same moment: each is recorded, refused or fenced as if it had been sent alone.
Why a script   history, state, mail, spawns, the run's outcome and the slot's next claim must happen together or not at all.
KEYS[1] leases    zset               KEYS[2] events   stream declared
ARGV[1] wakeupMs        ARGV[2] seed         names of new wakeups
ARGV[3] turns         for each, then a word . behind it: its head, its count of history entries and each of them, then facts: the name of each,
                      then its values. Absent: as without it. The head:
  worker       token        sequence     of this commit under the token, from 1        version      the version this commit builds on
  runState     state of the run          open         1 while a run is in progress
  inputsConsumed     mails consumed from the head of the lane
  wait         empty: the turn goes on; else what the worker waits for; again: nothing, it stands in line again           event        json
and the facts:
  attempt      "<tries> <what>" of each that waits for its retry, as the node says     retryMs      until then
  state        json, kept in the record    stateKey    json, kept under a key of its own
  failure      json; - : clear it          signalsConsumed mails consumed from the head of the lane
  resultsConsumed   positions consumed, comma-separated     resultsSeen   length for ever the node has seen
  pendingCalls       calls whose results are still to come   pendingCount     how many those are, or were when the run ended
  timersOpen   timers of the run that have not been received
  outcome      completed | failed | cancelled: the run ends                result       mail for the parent
  dead         evidence json of a quarantine: a consumed input goes to the dead letters with it, not into the history
  deadKept     length of the stream of dead letters
  spawn        id, kind, name (empty: of its kind and call), pool, how, call, permissions (empty: none), mail
               how: 1 detached, 2 this slot takes it at once, 3 both, 0 neither
  eager        node, leaseMs, slot, nonce: of the children that the slot takes
  send         worker, mail                timer       id, ms, json
  leave        wakeup (empty: none): no claim follows         wasBusy      1: the wakeup may be among the busy
  claim        wakeup, nonce, slot, node, kinds, leaseMs, mailBytes, suspectAfter, poisonAfter
  keepWakeup     1: the claim sets the wakeup anew              noSuspect    1: the node runs one now
Returns {answer, answer, ...} for each turn one of {"ok", version, wakeups, claimed, spent or nothing, caps or nothing, assigned or nothing} |
        {"fenced", claimed} | {"conflict", version} | {"cancelled"} | {"refused", list} | {"failed"}: another was recorded, and this one met
        an error, which it meets again when it is sent alone. The wake-ups of all are in the answer of the last that was recorded.
        claimed: nothing, or what claim answers: "assigned" and its parts, "empty", "unfit"
        assigned: the ids of children that slots took
Builds  T:w:<id> and its keys of these workers, of recipients, children, parents, roots and the next workers; the keys of
        T:s:<session>; T:dead; T:cancelling; T:timers; T:per-wake, T:nodes, T:wake; for claims T:run, T:wakeups, T:busy, T:slots, T:claims.
Events  what the node says happened, then session.completed and its like. Nothing is written of a turn that is not answered "ok". ]]
local leasesKey = KEYS[1]
local wakeupMs, seed = tonumber(ARGV[1]), ARGV[2]
local lists, cursor = ARGV, 3

local tag = tagOf(leasesKey)
checkArguments(wakeupMs)
local turns, answers, batch = {}, {}, newBatch(wakeupMs, seed)
while cursor <= #lists do turns[#turns + 1], cursor = readCommit(tag, lists, cursor) end
for index = 1, #turns do
  if batch.last then
    local fine, answer = pcall(commitTurn, tag, turns[index], batch)
    answers[index] = fine and not answer.err and answer or { 'failed' }
  else
    -- Nothing was written yet: an error is that of the whole script, and each commit is sent again by itself.
    local answer = commitTurn(tag, turns[index], batch)
    if answer.err then return answer end
    answers[index] = answer
  end
end
if batch.last then finishBatch(tag, batch) end
return answers
