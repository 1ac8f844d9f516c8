--[[ cancel – cancels a session: from this instant its workers can start, spawn and commit nothing, except their cancelling ends.
Why a script   the cancel, the state of the session and the list of unfinished cancels must agree.
KEYS[1] root      hash               KEYS[2] cancelled set               KEYS[3] cancelling set
KEYS[4] events    stream
ARGV[1] sessionId     ARGV[2] reason       json string     ARGV[3] channel  of cancel notices
ARGV[4] event         ARGV[5] why          the reason as text
Returns {"ok"} | {"not_found"} | {"finished", state}: it had ended before and stays as it ended; detached workers that it left are cancelled
Builds  T:s:<session>:reasons.
Events  session.cancelRequested of one that was active. Cancelling a session that is being cancelled is "ok" and writes nothing. ]]
local rootKey, cancelledKey, cancellingKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sessionId, reason, channel, event, why = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local tag = tagOf(rootKey)
local reasonsKey = sessionKey(tag, sessionId) .. ':reasons'
local kind, path, cancel, ended, workers, cancelCount = unpack(readFields(rootKey, 'kind', 'path1', 'cancel', 'ended', 'workers', 'cancelCount'))
if not kind or path then return { 'not_found' } end -- guard: a session that is asked to cancel has a root
local state = stateOf(cancel, ended)
if state == 'cancelling' then return { 'ok' } end
checkCount(rootKey, 'workers', workers)
local left = tonumber(workers or atStart.workers) - 1
if state ~= 'active' and left <= 0 then return { 'finished', state } end -- guard: a cancel reaches workers that outlive its session
checkSort('set', cancelledKey, cancellingKey)
checkCount(rootKey, 'cancelCount', cancelCount) -- guard: a cancel of a session is whole even if Redis cannot count up
if state ~= 'active' then checkSort('hash', reasonsKey) end
checkLast(why)
if state == 'active' then redis.call('HSET', rootKey, 'cancel', reason) end
-- A session that has ended may be cancelled for the second time.
local isFirst = redis.call('SADD', cancelledKey, rootOf(sessionId) .. ':*') == 1 -- guard: a cancel is written into the set of its session
if isFirst then -- guard: an ended session is cancelled once
  if state ~= 'active' then redis.call('HSET', reasonsKey, rootOf(sessionId) .. ':*', why) end -- guard: workers that outlive their session learn why they are cancelled
  redis.call('HINCRBY', rootKey, 'cancelCount', 1)
  redis.call('HSET', rootKey, 'endFrom', '0') -- guard: a cancel of a session looks at all of its workers
  redis.call('SADD', cancellingKey, sessionId)
  redis.call('PUBLISH', channel, sessionId)
end
if state ~= 'active' then return { 'finished', state } end
writeEvents(eventsKey, { sessionId, event })
return { 'ok' }
