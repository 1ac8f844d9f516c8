--[[ spawn – creates a session, its root worker and the first message.
Why a script   a session without its message, or a message without a place in the run queue, would wait for ever.
KEYS[1] record    hash               KEYS[2] user     list               KEYS[3] sessions zset
KEYS[4] events    stream
ARGV[1] sessionId     ARGV[2] kind         ARGV[3] pool         ARGV[4] mail
ARGV[5] seed          names of new bells   ARGV[6] bellMs       ARGV[7] event        json
ARGV[8] facts         then, each a name and its value, what is not as it is without them:
  name         of the root: its kind       mode         job; or conversation
  limits       workers, children, depth, mailbox: those by default         grant        lines: nothing is restricted
  caps         of its agents together: "<model calls> <tokens>": those by default
  idem         digest of an idempotency key             idemMs       how long it is known
  asked        digest of what is asked for under it
Returns {"ok", session, bells} | {"again", session, bells} | {"other", session, bells}: the key began something else
Builds  T:run, T:bells, T:busy, T:slots, T:share and T:told of the pool; T:nodes, T:idem.
Events  session.created. A session that exists, or a key that is known, gets the first answer again, as "again" or "other".
Writes nothing unless it returns "ok". ]]
local recordKey, userKey, sessionsKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sessionId, kind, pool, mail, seed, bellMs, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local lists, cursor = ARGV, 8

local tag = tagOf(recordKey)
local worker = string.sub(recordKey, #tag + 4)
local given = readFacts(lists, cursor)
local idemMs = tonumber(given.idemMs or 0)
checkArguments(bellMs, idemMs)
checkLast(event)
local asked = given.asked or '-'
local idemKey = given.idem and idemMs > 0 and (tag .. ':idem:' .. given.idem)
if idemKey then
  local known, knownAsked, knownBells = readAnswer(idemKey, '^(%x+%-%x+%-%x+%-%x+%-%x+) (%S+) ?(.*)$')
  if known then return { knownAsked == asked and 'again' or 'other', known, knownBells } end
end
local now = nowMs()
if redis.call('EXISTS', recordKey, userKey) > 0 then
  -- Sent again, or somebody else's.
  checkSort('hash', recordKey)
  checkSort('list', userKey)
end
-- The first write is also the check: a session that is in the index was created by this very call, sent before.
if redis.call('ZADD', sessionsKey, 'NX', digits(now), sessionId) == 0 then
  return { 'again', sessionId, redis.call('HGET', recordKey, 'rung') or '' }
end
redis.call('RPUSH', userKey, mail)
writeQueued(tag, pool, worker, nil, now)
local record = { 'schema', '4', 'kind', kind, 'place', 'queued' }
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
set('caps', given.caps)
local bells = writeBellsOf(tag, { [pool] = true }, seed, now, bellMs)
set('rung', bells, '')
redis.call('HSET', recordKey, unpack(record))
redis.pcall('XADD', eventsKey, '*', sessionId, event)
if idemKey then redis.call('SET', idemKey, sessionId .. ' ' .. asked .. ' ' .. bells, 'PX', digits(idemMs)) end
return { 'ok', sessionId, bells }
