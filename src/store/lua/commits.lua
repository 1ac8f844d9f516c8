--[[ commits – records what several turns of a node have for the same moment, each as `commit` does it, with one script.
Why a script   what they have in common is read and written once: their time, the results for a parent, the ends of leases, the claims.
KEYS[1] leases    zset               KEYS[2] events   stream declared
ARGV[1] bellMs        ARGV[2] seed         names of new bells
ARGV[3] turns         for each: worker, token, sequence, version, runState, open, userUsed, wait, event, then its entries and facts as `commit`
                      has them, then a word . behind them.
Returns {answer, answer, ...} with what `commit` answers each turn, or {"failed"}: another was recorded, and this one met an error, which it
        meets again when it is sent alone. The bells of all are in the answer of the last that was recorded.
Builds  T:w:<id> and its keys of these workers, of recipients, children, parents, roots and the next workers; the keys of
        T:s:<session>; T:dead; T:cancelling; T:timers; T:share, T:nodes, T:wake; for claims T:run, T:bells, T:busy, T:slots, T:grants.
Events  as `commit`. Nothing is written of a turn that is not answered "ok". ]]
local leasesKey = KEYS[1]
local bellMs, seed = tonumber(ARGV[1]), ARGV[2]
local lists, cursor = ARGV, 3

local tag = tagOf(leasesKey)
checkArguments(bellMs)
local turns, answers, joint = {}, {}, newJoint(bellMs, seed)
while cursor <= #lists do
  checkLast(lists[cursor + 9])
  local worker, recordKey = lists[cursor], workerKey(tag, lists[cursor])
  local turn = newTurn(worker, recordKey, recordKey .. ':log', recordKey .. laneKeys.user, lists[cursor + 1], tonumber(lists[cursor + 2]),
    lists[cursor + 3], lists[cursor + 4], lists[cursor + 5], tonumber(lists[cursor + 6]), lists[cursor + 7], lists[cursor + 8])
  cursor = readCommit(turn, lists, cursor + 9)
  turns[#turns + 1] = turn
end
for index = 1, #turns do
  local fine, answer = pcall(commitTurn, tag, turns[index], joint)
  if not fine and not joint.last then error(answer, 0) end
  if answer.err and not joint.last then return answer end
  answers[index] = fine and not answer.err and answer or { 'failed' }
end
if joint.last then finishCommits(tag, joint) end
return answers
