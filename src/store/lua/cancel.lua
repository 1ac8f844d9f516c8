--[[ cancel – from this instant nothing of the session can start, spawn or commit but its own cancelling end.
Why a script   the mark, the session's state and the list of unfinished cancels must agree.
KEYS[1] session   hash               KEYS[2] cancelled set               KEYS[3] cancelling set
KEYS[4] events    stream
ARGV[1] sessionId     ARGV[2] reason       json string     ARGV[3] hint     channel that nodes listen on
ARGV[4] event         ARGV[5] eventsKept
Returns {"ok"} | {"not_found"} | {"finished", state}: finished by itself before, nothing was written
Events  session.cancelRequested. Cancelling a session that is being cancelled is "ok" and writes nothing. ]]
local sessionKeyName, cancelledKey, cancellingKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sessionId, reason, hint, event, eventsKept = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local field = redis.call('HMGET', sessionKeyName, 'root', 'state', 'cancel')
if not field[1] then return { 'not_found' } end
if field[3] then return { 'ok' } end
if field[2] ~= 'active' then return { 'finished', field[2] } end
redis.call('HSET', sessionKeyName, 'cancel', reason, 'state', 'cancelling')
redis.call('SADD', cancelledKey, field[1] .. ':*')
redis.call('SADD', cancellingKey, sessionId)
redis.call('XADD', eventsKey, 'MAXLEN', '~', eventsKept, '*', 'session', sessionId, 'worker', field[1], 'events', event)
redis.call('PUBLISH', hint, sessionId)
return { 'ok' }
