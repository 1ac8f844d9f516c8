--[[ pause – pauses a session: from this instant none of its workers is claimed. Returns how many of its running turns may still begin something.
Why a script   the pause and the state of the session must agree, and no worker may be claimed between the pause and the look at its running turns.
KEYS[1] root      hash               KEYS[2] leases   zset               KEYS[3] events   stream
KEYS[4] idem      string             KEYS[5] workers  list
ARGV[1] header    json:
  sessionId        id
  channel          of notices
  idemMs           how long the key of this call is known; 0: the call only asks again how many turns are left of a pause
  from             position in the list of workers from which on it looks; 0: also at the root
ARGV[2] note      json: who paused it, why and when                          ARGV[3] event    json
Returns {"ok", turns, next} | {"not_found"} | {"finished", state} | {"resumed"}: somebody ended the pause that is asked about, or that this call made when it
        was sent before. turns: how many of its running turns may still begin something, of those that this call looked at. next: from where another
        call is to look; empty: all were looked at
Builds  T:w:<id> of workers that run; T:s:<session>:quiet.
Events  session.paused of one that was not paused. Pausing a session that is paused is "ok", and writes nothing but its key. A known key: the call is
        sent again, and must not undo a resume that came after it. ]]
local rootKey, leasesKey, eventsKey, idemKey, workersKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local header, note, event = readHeader(ARGV[1]), ARGV[2], ARGV[3]

checkTexts(header, 'sessionId', 'channel')
checkNumbers(header, 'idemMs', 'from')
checkLast(event)
local sessionId, channel, idemMs, from = header.sessionId, header.channel, header.idemMs, header.from

local tag = tagOf(rootKey)
local kind, path, cancel, ended, paused = unpack(readFields(rootKey, 'kind', 'path1', 'cancel', 'ended', 'paused'))
if not kind or path then return { 'not_found' } end -- guard: a session that is asked to pause has a root
local state = stateOf(cancel, ended)
if state ~= 'active' then return { 'finished', state } end -- guard: a finished session takes no pause
if not paused and idemMs == 0 then return { 'resumed' } end -- guard: a question about a pause that was ended begins no new pause
if not paused and readAnswer(idemKey, '^(ok)$') then return { 'resumed' } end -- guard: a pause that is sent again undoes no resume
local quietKey = quietKeyOf(tag, sessionId)
checkSort('zset', leasesKey)
checkSort('set', quietKey)
checkSort('list', workersKey)
if idemMs > 0 then redis.call('SET', idemKey, 'ok', 'PX', digits(idemMs)) end
if not paused then
  redis.call('HSET', rootKey, 'paused', note)
  redis.call('PUBLISH', channel, sessionId)
  writeEvents(eventsKey, { sessionId, event })
end
-- No worker is claimed any more, so these turns only become fewer; children that slots take at once come at the end of the list. It looks at workers of
-- the session, and not at leases: there are as many of those as all nodes have slots.
local looksMost, now, turns = 500, nowMs(), 0
local ids = redis.call('LRANGE', workersKey, digits(from), digits(from + looksMost - 1)) -- guard: a pause looks at no more workers than a script may
local next = #ids == looksMost and digits(from + looksMost) or ''
if from == 0 then ids[#ids + 1] = rootOf(sessionId) end
for index = 1, #ids do
  -- A node trusts no lease that has ended.
  local runs = (tonumber(redis.call('ZSCORE', leasesKey, ids[index]) or nil) or 0) > now
  local token = runs and redis.pcall('HGET', workerKey(tag, ids[index]), 'token')
  if type(token) == 'string' and redis.call('SISMEMBER', quietKey, ids[index] .. ' ' .. token) == 0 then -- guard: a pause counts the turns that are not quiet
    turns = turns + 1
  end
end
return { 'ok', digits(turns), next }
