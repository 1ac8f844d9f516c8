--[[ close – ends a conversation: at once if its root is idle and no input waits, else once the waiting inputs are answered.
Why a script   an input that arrives while the session is closed must either be refused or be answered.
KEYS[1] root      hash               KEYS[2] events   stream            KEYS[3] ends     zset
ARGV[1] sessionId     ARGV[2] note       json: who closed it, and when      ARGV[3] event    json
Returns {"ok", state} | {"not_found"}: state is active while the last input is being answered
Builds  T:timers; T:endpoints:since.
Events  session.closeRequested of a conversation that was not closed; session.completed when it ended here. A finished session is "ok" and writes
        nothing. ]]
local rootKey, eventsKey, endsKey = KEYS[1], KEYS[2], KEYS[3]
local sessionId, note, event = ARGV[1], ARGV[2], ARGV[3]
local tag = tagOf(rootKey)

checkLast(event)
local kind, path, mode, cancel, ended, status, open, notify = unpack(readFields(rootKey, 'kind', 'path1', 'mode', 'cancel', 'ended', 'status', 'open', 'notify'))
if not kind or path then return { 'not_found' } end -- guard: a session that is asked to close has a root
local state = stateOf(cancel, ended)
if state ~= 'active' then return { 'ok', state } end
checkSort('zset', endsKey, tag .. ':timers')
local told = {}
if mode == 'conversation' then -- guard: a session says who closed it first
  redis.call('HSET', rootKey, 'mode', 'job', 'closed', note)
  told = { sessionId, event }
end
local rests = status == 'idle' and open ~= '1'
if rests then
  local now = nowMs()
  redis.call('HSET', rootKey, 'ended', 'completed ' .. digits(now))
  writeEnd(tag, sessionId, now, notify, hasEndpoints(tag)) -- guard: a session that is closed has ended
  told[#told + 1], told[#told + 2] = sessionId, '[["session.completed"]]'
end
if #told > 0 then writeEvents(eventsKey, told) end
return { 'ok', rests and 'completed' or 'active' }
