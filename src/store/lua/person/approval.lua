--[[ approval – sets the approval policy of a session, which withdraws the trust in all tools; or records that one tool is trusted.
Why a script   if two people trust a tool at once, both must count, and a session that is pruned in the meantime must not come back as a record with only this field.
KEYS[1] root      hash               KEYS[2] events   stream
ARGV[1] sessionId     ARGV[2] policy    empty: as it is       ARGV[3] tool     to trust; empty: none
ARGV[4] start         of a session without the field          ARGV[5] event
Returns {"ok", approval} | {"not_found"}
Events  session.approvalChanged, in the words of the client. Where all is as it was, nothing is written.
        Running turns learn of the change with their next commit. An ended session takes it too: its detached workers, or a retry, may go on. ]]
local rootKey, eventsKey = KEYS[1], KEYS[2]
local sessionId, policy, tool, start, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local kind, path, approval = unpack(readFields(rootKey, 'kind', 'path1', 'approval'))
if not kind or path then return { 'not_found' } end -- guard: a session whose approvals are set has a root
checkLast(event)
local policyBefore, rest, tools = string.match(approval or start, '^(%a+) (%a+ %d+) ?([%w_,-]*)$')
if not policyBefore then throwDamage('field approval of ' .. rootKey .. ' should be a policy, a word, a number and names of tools') end
if policy ~= '' then
  tools = '' -- guard: a new policy takes all trust back
elseif tool ~= '' and not string.find(',' .. tools .. ',', ',' .. tool .. ',', 1, true) then -- guard: a tool is trusted once
  tools = tools == '' and tool or (tools .. ',' .. tool) -- guard: trust in other tools stays
end
local after = (policy == '' and policyBefore or policy) .. ' ' .. rest .. (tools == '' and '' or (' ' .. tools))
if after == (approval or start) then return { 'ok', after } end
redis.call('HSET', rootKey, 'approval', after)
writeEvents(eventsKey, { sessionId, event })
return { 'ok', after }
