--[[ spawn – creates a session, its root worker and the first message.
Why a script   a session without its message, or a message without a place in the run queue, would wait for ever.
KEYS[1] record    hash               KEYS[2] inbox     list               KEYS[3] sessions zset
KEYS[4] events    stream declared
ARGV[1] sessionId     ARGV[2] kind         ARGV[3] pool         ARGV[4] mail
ARGV[5] seed          names of new wakeups   ARGV[6] wakeupMs       ARGV[7] event        json
ARGV[8] facts         then, each a name and its value, what is not as it is without them:
  name         of the root: its kind       mode         job; or conversation
  limits       workers, children, depth, mailbox: those by default         permissions        lines: nothing is restricted
  caps         of its agents together: "<model calls> <tokens>": those by default
  idem         digest of an idempotency key             idemMs       how long it is known
  asked        digest of what is asked for under it
Returns {"ok", session, wakeups} | {"again", session, wakeups} | {"other", session, wakeups}: the key began something else
Builds  T:run, T:wakeups, T:busy, T:slots, T:per-wake and T:wake of the pool; T:nodes, T:idem.
Events  session.created. A session that exists, or a key that is known, gets the first answer again, as "again" or "other".
Writes nothing unless it returns "ok". ]]
local recordKey, inboxKey, sessionsKey = KEYS[1], KEYS[2], KEYS[3]
local sessionId, kind, pool, mail, seed, wakeupMs, event = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local lists, cursor = ARGV, 8

local tag = tagOf(recordKey)
local given = readFacts(lists, cursor)
local idemMs = tonumber(given.idemMs or 0)
checkArguments(wakeupMs, idemMs)
checkLast(event)
local asked = given.asked or '-'
local idemKey = given.idem and idemMs > 0 and (tag .. ':idem:' .. given.idem)
if idemKey then
  local known, knownAsked, knownWakeups = readAnswer(idemKey, '^(%x+%-%x+%-%x+%-%x+%-%x+) (%S+) ?(.*)$')
  if known then return { knownAsked == asked and 'again' or 'other', known, knownWakeups } end
end
local now = nowMs()
if redis.call('EXISTS', recordKey, inboxKey) > 0 then checkRoot(recordKey) end
-- The first write is also the check: a session that is in the index was created by this very call, sent before.
if redis.call('ZADD', sessionsKey, 'NX', digits(now), sessionId) == 0 then
  return { 'again', sessionId, redis.call('HGET', recordKey, 'startWakeups') or '' }
end
local order = { session = sessionId, recordKey = recordKey, kind = kind, pool = pool, mail = mail, event = event, given = given }
local wakeups = writeSessions(tag, { order }, now, seed, wakeupMs)
if idemKey then redis.call('SET', idemKey, sessionId .. ' ' .. asked .. ' ' .. wakeups, 'PX', digits(idemMs)) end
return { 'ok', sessionId, wakeups }
