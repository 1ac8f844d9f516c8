--[[ close – ends a conversation: at once when its root is idle with nothing waiting, else when what waits has been answered.
Why a script   an input that arrives while the session is closed must either be refused or be answered.
KEYS[1] session   hash               KEYS[2] events   stream
ARGV[1] sessionId     ARGV[2] eventsKept
Returns {"ok", state} | {"not_found"}: state is active while the last input is being answered
Builds  the record and user lane of the root.
Events  session.completed when it ended here. A finished session is "ok" and writes nothing. ]]
local sessionKeyName, eventsKey = KEYS[1], KEYS[2]
local sessionId, eventsKept = ARGV[1], ARGV[2]

local tag = tagOf(sessionKeyName)
local field = redis.call('HMGET', sessionKeyName, 'root', 'state')
if not field[1] then return { 'not_found' } end
if field[2] ~= 'active' then return { 'ok', field[2] } end
local record = workerKey(tag, field[1])
local root = redis.call('HMGET', record, 'state', 'open')
redis.call('HSET', record, 'mode', 'job')
if root[1] ~= 'idle' or root[2] == '1' then return { 'ok', 'active' } end
redis.call('HSET', sessionKeyName, 'state', 'completed', 'finished', digits(nowMs()))
redis.call('XADD', eventsKey, 'MAXLEN', '~', eventsKept, '*', 'session', sessionId, 'worker', field[1], 'events', '[["session.completed"]]',
  'ended', 'completed')
return { 'ok', 'completed' }
