--[[ pause – pauses a session: from this instant none of its workers is claimed. Returns how many of its running turns may still begin something.
Why a script   the pause and the state of the session must agree, and no worker may be claimed between the pause and the look at its running turns.
KEYS[1] root      hash               KEYS[2] leases   zset               KEYS[3] events   stream
KEYS[4] idem      string
ARGV[1] sessionId     ARGV[2] note         json: who paused it, why and when                     ARGV[3] channel  of notices
ARGV[4] event         ARGV[5] idemMs       how long the key of this call is known; 0: the call only asks again how many turns are left of a pause
Returns {"ok", turns} | {"not_found"} | {"finished", state} | {"resumed"}: somebody ended the pause that is asked about, or that this call made when it
        was sent before. turns: how many of its running turns may still begin something
Builds  T:w:<id> of workers that run; T:s:<session>:quiet.
Events  session.paused of one that was not paused. Pausing a session that is paused is "ok", and writes nothing but its key. A known key: the call is
        sent again, and must not undo a resume that came after it. ]]
local rootKey, leasesKey, eventsKey, idemKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sessionId, note, channel, event, idemMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local tag = tagOf(rootKey)
local kind, path, cancel, ended, paused = unpack(readFields(rootKey, 'kind', 'path1', 'cancel', 'ended', 'paused'))
if not kind or path then return { 'not_found' } end -- guard: a session that is asked to pause has a root
local state = stateOf(cancel, ended)
if state ~= 'active' then return { 'finished', state } end -- guard: a finished session takes no pause
if not paused and idemMs == 0 then return { 'resumed' } end -- guard: who asks about a pause that was ended begins no other
if not paused and readAnswer(idemKey, '^(ok)$') then return { 'resumed' } end -- guard: a pause that is sent again undoes no resume
local quietKey = quietKeyOf(tag, sessionId)
checkSort('zset', leasesKey)
checkSort('set', quietKey)
checkArguments(idemMs)
if idemMs > 0 then redis.call('SET', idemKey, 'ok', 'PX', digits(idemMs)) end
if not paused then
  redis.call('HSET', rootKey, 'paused', note)
  redis.call('PUBLISH', channel, sessionId)
  writeEvents(eventsKey, { sessionId, event })
end
-- No worker is claimed any more, so these turns only become fewer. A node trusts no lease that has ended.
local running, turns = redis.call('ZRANGEBYSCORE', leasesKey, '(' .. digits(nowMs()), '+inf'), 0
for index = 1, #running do
  local field = redis.pcall('HMGET', workerKey(tag, running[index]), 'token', 'path1', 'kind')
  if field[3] and sessionOf(running[index], field[2] or nil) == sessionId and
    redis.call('SISMEMBER', quietKey, running[index] .. ' ' .. (field[1] or '')) == 0 then -- guard: a pause counts the turns that are not quiet
    turns = turns + 1
  end
end
return { 'ok', digits(turns) }
