--[[ spawn – creates a session, its root worker and the first message.
Why a script   a session without its message, or a message without a place in the run queue, would wait for ever.
KEYS[1] session   hash               KEYS[2] record   hash               KEYS[3] user     list
KEYS[4] sessions  zset               KEYS[5] run      zset   declared    KEYS[6] bells    zset   declared
KEYS[7] busy      zset   declared    KEYS[8] slots    string declared    KEYS[9] events   stream
KEYS[10] idem     string             the idempotency key, or any key of the tag when none was given
ARGV[1] sessionId     ARGV[2] worker       ARGV[3] kind         ARGV[4] name         ARGV[5] pool
ARGV[6] mode          job | conversation   ARGV[7] mail         ARGV[8] idemMs       0: no key was given
ARGV[9] workersMax    ARGV[10] childrenMax ARGV[11] depthMax    ARGV[12] mailboxMax
ARGV[13] seed         ARGV[14] bellMs      ARGV[15] event       ARGV[16] eventsKept
Returns {"ok", session, worker, bells} | {"again", session, worker, bells}
Events  session.created. A session that exists, or a key that is known, gets the first answer again, as "again".
Writes nothing unless it returns "ok". ]]
local sessionKeyName, recordKey, userKey, sessionsKey, eventsKey, idemKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[9], KEYS[10]
local sessionId, worker, kind, name, pool, mode, mail = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local idemMs, workersMax, childrenMax, depthMax, mailboxMax = tonumber(ARGV[8]), ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local seed, bellMs, event, eventsKept = ARGV[13], tonumber(ARGV[14]), ARGV[15], ARGV[16]

local tag = tagOf(sessionKeyName)
if idemMs > 0 then
  local known = redis.call('GET', idemKey)
  if known then
    local knownSession, knownWorker, knownBells = string.match(known, '^(%S+) (%S+) ?(.*)$')
    return { 'again', knownSession, knownWorker, knownBells }
  end
end
local first = redis.call('HMGET', sessionKeyName, 'root', 'bells')
if first[1] then return { 'again', sessionId, first[1], first[2] or '' } end

local now = nowMs()
redis.call('RPUSH', userKey, mail)
local score = writeQueued(tag, pool, worker, sessionId, nil, now)
local bells = writeBells(tag, pool, seed, now, bellMs, bellsMost)
redis.call('HSET', recordKey, 'schema', '1', 'session', sessionId, 'kind', kind, 'name', name, 'pool', pool, 'depth', '0',
  'mode', mode, 'state', 'queued', 'run', '1', 'open', '0', 'fsm', 'Idle', 'version', '0', 'created', digits(now))
local facts = { 'schema', '1', 'root', worker, 'state', 'active', 'workers', '1', 'workersMax', workersMax,
  'childrenMax', childrenMax, 'depthMax', depthMax, 'mailboxMax', mailboxMax, 'score', digits(score) }
if bells ~= '' then
  facts[#facts + 1] = 'bells'
  facts[#facts + 1] = bells
end
redis.call('HSET', sessionKeyName, unpack(facts))
redis.call('ZADD', sessionsKey, digits(now), sessionId)
redis.call('XADD', eventsKey, 'MAXLEN', '~', eventsKept, '*', 'session', sessionId, 'worker', worker, 'events', event)
if idemMs > 0 then
  redis.call('SET', idemKey, sessionId .. ' ' .. worker .. ' ' .. bells, 'PX', digits(idemMs))
end
return { 'ok', sessionId, worker, bells }
