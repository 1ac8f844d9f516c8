--[[ cancel – from this instant nothing of the session can start, spawn or commit but its own cancelling end.
Why a script   the mark, the session's state and the list of unfinished cancels must agree.
KEYS[1] session   hash               KEYS[2] cancelled set               KEYS[3] cancelling set
KEYS[4] events    stream
ARGV[1] sessionId     ARGV[2] reason       json string     ARGV[3] hint     channel that nodes listen on
ARGV[4] event
Returns {"ok"} | {"not_found"} | {"finished", state}: finished by itself before, nothing was written
Events  session.cancelRequested. Cancelling a session that is being cancelled is "ok" and writes nothing. ]]
local sessionHash, cancelledKey, cancellingKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sessionId, reason, hint, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local tag = tagOf(sessionHash)
local state = sessionState(tag, sessionId)
if not state then return { 'not_found' } end
if state == 'cancelling' then return { 'ok' } end
if state ~= 'active' then return { 'finished', state } end
checkSort('set', cancelledKey, cancellingKey)
checkMarks(sessionHash)
checkLast(event)
redis.call('HSET', sessionHash, 'cancel', reason, 'state', 'cancelling')
redis.call('SADD', cancelledKey, rootOf(sessionId) .. ':*')
redis.call('HINCRBY', sessionHash, 'marks', 1)
redis.call('SADD', cancellingKey, sessionId)
redis.pcall('XADD', eventsKey, '*', 'session', sessionId, 'events', event)
redis.call('PUBLISH', hint, sessionId)
return { 'ok' }
