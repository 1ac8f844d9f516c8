--[[ close – ends a conversation: at once when its root is idle with nothing waiting, else when what waits has been answered.
Why a script   an input that arrives while the session is closed must either be refused or be answered.
KEYS[1] session   hash               KEYS[2] events   stream
ARGV[1] sessionId
Returns {"ok", state} | {"not_found"}: state is active while the last input is being answered
Builds  T:w:<root>.
Events  session.completed when it ended here. A finished session is "ok" and writes nothing. ]]
local sessionHash, eventsKey = KEYS[1], KEYS[2]
local sessionId = ARGV[1]

local tag = tagOf(sessionHash)
local state = sessionState(tag, sessionId)
if not state then return { 'not_found' } end
if state ~= 'active' then return { 'ok', state } end
local record = workerKey(tag, rootOf(sessionId))
local root = redis.call('HMGET', record, 'state', 'open')
redis.call('HSET', record, 'mode', 'job')
if root[1] ~= 'idle' or root[2] == '1' then return { 'ok', 'active' } end
redis.call('HSET', sessionHash, 'ended', 'completed ' .. digits(nowMs()))
redis.pcall('XADD', eventsKey, '*', 'session', sessionId, 'ended', 'completed')
return { 'ok', 'completed' }
