--[[ close – ends a conversation: at once if its root is idle and no input waits, else once the waiting inputs are answered.
Why a script   an input that arrives while the session is closed must either be refused or be answered.
KEYS[1] root      hash               KEYS[2] events   stream            KEYS[3] ends     zset
ARGV[1] sessionId
Returns {"ok", state} | {"not_found"}: state is active while the last input is being answered
Builds  T:timers; T:endpoints:since.
Events  session.completed when it ended here. A finished session is "ok" and writes nothing. ]]
local rootKey, eventsKey, endsKey = KEYS[1], KEYS[2], KEYS[3]
local sessionId = ARGV[1]
local tag = tagOf(rootKey)

checkLast(sessionId)
local kind, path, cancel, ended, status, open, notify = unpack(readFields(rootKey, 'kind', 'path1', 'cancel', 'ended', 'status', 'open', 'notify'))
if not kind or path then return { 'not_found' } end -- guard: a session that is asked to close has a root
local state = stateOf(cancel, ended)
if state ~= 'active' then return { 'ok', state } end
checkSort('zset', endsKey, tag .. ':timers')
redis.call('HSET', rootKey, 'mode', 'job')
if status ~= 'idle' or open == '1' then return { 'ok', 'active' } end
local now = nowMs()
redis.call('HSET', rootKey, 'ended', 'completed ' .. digits(now))
writeEnd(tag, sessionId, now, notify, hasEndpoints(tag)) -- guard: a session that is closed has ended
writeEvents(eventsKey, { sessionId, '[["session.completed"]]' })
return { 'ok', 'completed' }
