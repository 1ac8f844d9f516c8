--[[ approval – sets the approval policy of a session, which withdraws the trust in all tools; or records that one tool is trusted.
Why a script   if two people trust a tool at once, both must count, and a session that is pruned in the meantime must not come back as a record with only this field.
KEYS[1] root      hash               KEYS[2] events   stream             KEYS[3] idem     string
ARGV[1] header    json:
  sessionId        id
  policy           empty: as it is
  tool             to trust; empty: none
  start            of a session without the field
  idemMs           how long the key of this call is known
ARGV[2] event     json
Returns {"ok", approval} | {"not_found"}
Events  session.approvalChanged, in the words of the client. If nothing changes, only the idempotency key is written. A known key: the call is
        sent again, and must not undo a change that came after it.
        Running turns learn of the change with their next commit. An ended session takes it too: its detached workers, or a retry, may go on. ]]
local rootKey, eventsKey, idemKey = KEYS[1], KEYS[2], KEYS[3]
local header, event = readHeader(ARGV[1]), ARGV[2]

checkTexts(header, 'sessionId', 'policy', 'tool', 'start')
checkNumbers(header, 'idemMs')
if header.idemMs == 0 then error('the header should have a number idemMs above 0', 0) end
checkLast(event)
local sessionId, policy, tool, start = header.sessionId, header.policy, header.tool, header.start

local kind, path, approval = unpack(readFields(rootKey, 'kind', 'path1', 'approval'))
if not kind or path then return { 'not_found' } end -- guard: a session whose approvals are set has a root
if readAnswer(idemKey, '^(ok)$') then return { 'ok', approval or start } end -- guard: trust in a tool that is sent again undoes no later policy
local policyBefore, rest, tools = string.match(approval or start, '^(%a+) (%a+ %d+) ?([%w_,-]*)$')
if not policyBefore then throwDamage('field approval of ' .. rootKey .. ' should be a policy, a word, a number and names of tools') end
if policy ~= '' then
  tools = '' -- guard: a new policy takes all trust back
elseif tool ~= '' and not string.find(',' .. tools .. ',', ',' .. tool .. ',', 1, true) then -- guard: a tool is trusted once
  tools = tools == '' and tool or (tools .. ',' .. tool) -- guard: trust in other tools stays
end
local after = (policy == '' and policyBefore or policy) .. ' ' .. rest .. (tools == '' and '' or (' ' .. tools))
redis.call('SET', idemKey, 'ok', 'PX', digits(header.idemMs))
if after == (approval or start) then return { 'ok', after } end
redis.call('HSET', rootKey, 'approval', after)
writeEvents(eventsKey, { sessionId, event })
return { 'ok', after }
