--[[ limit – sets anew what the agents of a session may use, all of them together.
Why a script   a session that is pruned in the meantime must not be left as a record of this alone; and of two that set one each, both count.
KEYS[1] session   hash               KEYS[2] events   stream
ARGV[1] sessionId     ARGV[2] modelCalls   ARGV[3] tokens       either empty: as it is
ARGV[4] start         both as a session has them that says nothing       ARGV[5] event
Returns {"ok", caps} | {"not_found"} | {"finished", state}: nothing of it goes on
Events  what the client says. Where both are as they were, nothing is written. Running agents learn of it with their next commit. ]]
local sessionHash, eventsKey = KEYS[1], KEYS[2]
local sessionId, modelCalls, tokens, start, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local tag = tagOf(sessionHash)
local state = sessionState(tag, sessionId)
if not state then return { 'not_found' } end
-- Detached workers that it left go on in a session that has ended, unless it was cancelled.
local left = tonumber(redis.call('HGET', sessionHash, 'workers') or '1') - 1
if state ~= 'active' and (left <= 0 or string.find(state, '^cancel')) then return { 'finished', state } end
checkLast(event)
local function given(number) return number == '' and 0 or tonumber(number) end
checkArguments(given(modelCalls), given(tokens))
local before = redis.call('HGET', sessionHash, 'caps') or start
local calls, most = string.match(before, '^(%d+) (%d+)$')
if not calls then error('field caps of ' .. sessionHash .. ' should be two numbers', 0) end
local caps = (modelCalls == '' and calls or modelCalls) .. ' ' .. (tokens == '' and most or tokens)
if caps == before then return { 'ok', caps } end
redis.call('HSET', sessionHash, 'caps', caps)
redis.pcall('XADD', eventsKey, '*', 'session', sessionId, 'events', event)
return { 'ok', caps }
