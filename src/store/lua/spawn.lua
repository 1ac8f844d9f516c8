--[[ spawn – creates a session, its root worker and the first message.
Why a script   a session without its message, or a message without a place in the run queue, would wait for ever.
KEYS[1] session   hash               KEYS[2] record   hash               KEYS[3] user     list
KEYS[4] sessions  zset               KEYS[5] events   stream
ARGV[1] kind          ARGV[2] pool         ARGV[3] mail         ARGV[4] seed         names of new bells
ARGV[5] bellMs        ARGV[6] event        json
ARGV[7] facts         then, each a name and its value, what is not as it is without them:
  name         of the root: its kind       mode         job; or conversation
  limits       workers, children, depth, mailbox: those by default         grant        lines: nothing is restricted
  caps         of its agents together: "<model calls> <tokens>": those by default
  idem         digest of an idempotency key             idemMs       how long it is known
  asked        digest of what is asked for under it
Returns {"ok", session, bells} | {"again", session, bells} | {"other", session, bells}: the key began something else
Builds  T:run, T:bells, T:busy, T:slots, T:share and T:told of the pool; T:nodes, T:idem.
Events  session.created. A session that exists, or a key that is known, gets the first answer again, as "again" or "other".
Writes nothing unless it returns "ok". ]]
local sessionHash, recordKey, userKey, sessionsKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local kind, pool, mail, seed, bellMs, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local lists, cursor = ARGV, 7

local tag = tagOf(sessionHash)
local sessionId, worker = string.sub(sessionHash, #tag + 4), string.sub(recordKey, #tag + 4)
local given = readFacts(lists, cursor)
local idemMs = tonumber(given.idemMs or '0')
checkArguments(bellMs, idemMs)
checkLast(event)
local asked = given.asked or '-'
local idemKey = given.idem and idemMs > 0 and (tag .. ':idem:' .. given.idem)
if idemKey then
  local known = redis.call('GET', idemKey)
  if known then
    local knownSession, knownAsked, knownBells = string.match(known, '^(%S+) (%S+) ?(.*)$')
    if knownAsked ~= asked then return { 'other', knownSession, knownBells } end
    return { 'again', knownSession, knownBells }
  end
end
local now = nowMs()
if redis.call('EXISTS', sessionHash, recordKey, userKey) > 0 then
  -- Sent again, or somebody else's.
  checkSort('hash', sessionHash, recordKey)
  checkSort('list', userKey)
end
-- The first write is also the check: a session that is in the index was created by this very call, sent before.
if redis.call('ZADD', sessionsKey, 'NX', now, sessionId) == 0 then
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
set('limits', given.limits)
set('name', given.name)
set('pool', pool, 'default')
set('mode', given.mode)
set('grant', given.grant)
redis.call('HSET', recordKey, unpack(record))
local ofSession = { 'schema', '1' }
if given.caps then ofSession[3], ofSession[4] = 'caps', given.caps end
local bells = writeBellsOf(tag, { [pool] = true }, seed, now, bellMs)
if bells ~= '' then ofSession[#ofSession + 1], ofSession[#ofSession + 2] = 'bells', bells end
redis.call('HSET', sessionHash, unpack(ofSession))
redis.pcall('XADD', eventsKey, '*', 'session', sessionId, 'events', event)
if idemKey then redis.call('SET', idemKey, sessionId .. ' ' .. asked .. ' ' .. bells, 'PX', digits(idemMs)) end
return { 'ok', sessionId, bells }
