--[[ commits – records what several turns of a node have for the same moment, each as `commit` does it, with one script.
Why a script   what they have in common is read and written once: their time, the results for a parent, the ends of leases, the claims.
KEYS[1] leases    zset               KEYS[2] events   stream declared
ARGV[1] bellMs        ARGV[2] seed         names of new bells
ARGV[3] turns         for each: worker, token, sequence, version, runState, open, userUsed, wait, event, then its entries and facts as `commit`
                      has them, then a word . behind them. Of a child's first step with which its run completes and its turn ends only the
                      number of its siblings, worker, result (empty: none), event, its entries, and of the facts those of the slot's end.
                      What siblings have in common stands before the first of theirs, and counts from 1: the word `of`, token, session,
                      parent, its run (-: detached), depth, pool
Returns {answer, answer, ...} with what `commit` answers each turn (a child's first step to what its slot claims, if it does), or
        {"failed"}: another was recorded, and this one met an error, which says itself when the turn is sent alone. The bells of all
        are in the answer of the last that was recorded.
Builds  T:w:<id> and its keys of these workers, of recipients, children, parents, roots and the next workers; the keys of
        T:s:<session>; T:dead; T:cancelling; T:timers; T:share, T:nodes, T:told; for claims T:run, T:bells, T:busy, T:slots, T:grants.
Events  as `commit`. Nothing is written of a turn that is not answered "ok". ]]
local leasesKey = KEYS[1]
local bellMs, seed = tonumber(ARGV[1]), ARGV[2]
local lists, cursor = ARGV, 3

local tag = tagOf(leasesKey)
checkArguments(bellMs)
local turns, answers, joint = {}, {}, newJoint(bellMs, seed)
local groups, groupCount = {}, 0
while cursor <= #lists do
  local siblings = groups[lists[cursor]]
  if siblings then
    turns[#turns + 1], cursor = readOnlyStep(lists, cursor + 1, siblings)
  elseif lists[cursor] == 'of' then
    groupCount = groupCount + 1
    groups[digits(groupCount)], cursor = readSiblings(lists, cursor + 1)
  else
    checkLast(lists[cursor + 9])
    local worker, recordKey = lists[cursor], workerKey(tag, lists[cursor])
    local turn = newTurn(worker, recordKey, recordKey .. ':log', recordKey .. laneKeys.user, lists[cursor + 1], tonumber(lists[cursor + 2]),
      lists[cursor + 3], lists[cursor + 4], lists[cursor + 5], tonumber(lists[cursor + 6]), lists[cursor + 7], lists[cursor + 8])
    cursor = readCommit(turn, lists, cursor + 9)
    turns[#turns + 1] = turn
  end
end
for index = 1, #turns do
  local fine, answer = pcall(commitStep, tag, turns[index], joint)
  if not fine and not joint.last then error(answer, 0) end
  if answer.err and not joint.last then return answer end
  answers[index] = fine and not answer.err and answer or { 'failed' }
end
if joint.last then finishCommits(tag, joint) end
return answers
