--[[ spawn – creates a session, its root worker and the first message.
Why a script   a session without its message, or a message without a place in the run queue, would wait for ever.
KEYS[1] session   hash               KEYS[2] record   hash               KEYS[3] user     list
KEYS[4] sessions  zset               KEYS[5] run      zset   declared    KEYS[6] bells    zset   declared
KEYS[7] busy      zset   declared    KEYS[8] slots    string declared    KEYS[9] events   stream
KEYS[10] idem     string             the idempotency key, or any key of the tag when none was given
ARGV[1] sessionId     ARGV[2] worker       ARGV[3] kind         ARGV[4] name         ARGV[5] pool
ARGV[6] mode          job | conversation   ARGV[7] mail         ARGV[8] idemMs       0: no key was given
ARGV[9] limits        workers, children, depth, mailbox          ARGV[10] grant       lines; empty: nothing is restricted
ARGV[11] seed         ARGV[12] bellMs      ARGV[13] event
Returns {"ok", session, bells} | {"again", session, bells}
Builds  T:share of the pool.
Events  session.created. A session that exists, or a key that is known, gets the first answer again, as "again".
Writes nothing unless it returns "ok". ]]
local sessionHash, recordKey, userKey, sessionsKey, eventsKey, idemKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[9], KEYS[10]
local sessionId, worker, kind, name, pool, mode, mail = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local idemMs, limits, grant, seed, bellMs, event = tonumber(ARGV[8]), ARGV[9], ARGV[10], ARGV[11], tonumber(ARGV[12]), ARGV[13]

local tag = tagOf(sessionHash)
if idemMs > 0 then
  local known = redis.call('GET', idemKey)
  if known then
    local knownSession, knownBells = string.match(known, '^(%S+) ?(.*)$')
    return { 'again', knownSession, knownBells }
  end
end
local now = nowMs()
checkArguments(idemMs, bellMs)
checkLast(event)
if redis.call('EXISTS', sessionHash, recordKey, userKey) > 0 then
  -- Sent again, or somebody else's.
  checkSort('hash', sessionHash, recordKey)
  checkSort('list', userKey)
end
-- The first write is also the check: a session that is in the index was created by this very call, sent before.
if redis.call('ZADD', sessionsKey, 'NX', digits(now), sessionId) == 0 then
  return { 'again', sessionId, redis.call('HGET', sessionHash, 'bells') or '' }
end
redis.call('RPUSH', userKey, mail)
writeQueued(tag, pool, worker, nil, now)
local record = { 'schema', '1', 'kind', kind, 'state', 'queued' }
local function set(field, value, absent)
  if value ~= absent then
    record[#record + 1] = field
    record[#record + 1] = value
  end
end
set('limits', limits, startLimits)
set('name', name, kind)
set('pool', pool, 'default')
set('mode', mode, 'job')
set('grant', grant, '')
redis.call('HSET', recordKey, unpack(record))
local bells = writeBellsOf(tag, { [pool] = true }, seed, now, bellMs)
if bells == '' then
  redis.call('HSET', sessionHash, 'schema', '1')
else
  redis.call('HSET', sessionHash, 'schema', '1', 'bells', bells)
end
redis.pcall('XADD', eventsKey, '*', 'session', sessionId, 'events', event)
if idemMs > 0 then redis.call('SET', idemKey, sessionId .. ' ' .. bells, 'PX', digits(idemMs)) end
return { 'ok', sessionId, bells }
