--[[ fork – makes a prepared copy of a session appear: its keys stay, and its workers are queued, or wait as in the original.
Why a script   half a copy would run with messages and children that are missing.
KEYS[1] root      hash               KEYS[2] sessions zset               KEYS[3] events   stream
KEYS[4] timers    zset               KEYS[5] asks     zset               KEYS[6] cancelling set
KEYS[7] ends      zset
ARGV[1] header    json:
  session          id of the copy
  from             id of the original session
  seed             names of new wake-ups begin with it
  wakeupMs         how long a wake-up counts as sent
  workers          the root first, each:
    id             of the worker
    queued         the pool in whose run queue it stands; absent: it is not queued
  keys             the prepared keys, each "<type> <size> <name behind the tag>"; a worker's record is in fork:<session>:<id>
  due              times and names of timers in turn
  open             times and ids of open asks in turn
  isCancelling     true: a cancel within the copy is not finished
  key              digest of an idempotency key of the caller; absent: none
  keyMs            with a key: how long it is known
ARGV[2] event     of the copy, json     ARGV[3] told     event of the original, json
Returns {"ok", wakeups}: the copy appeared, now or in an earlier try of this call
        | {"again", session}: another copy appeared under this idempotency key
        | {"lost", key}: this key is not there, or not complete
Builds  T:w:<id> and its keys of the copy, T:fork:<session> with its records, and the keys that the header names; T:w:<root> of the other session; T:run,
        T:wakeups, T:busy, T:slots, T:per-wake, T:wake of its pools; T:nodes, T:pools, T:clocks, T:kind-queues, T:idem.
Events  session.created of the copy, session.forked of the other. Writes nothing unless it returns "ok". ]]
local rootKey, sessionsKey, eventsKey, timersKey, asksKey, cancellingKey, endsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local header, event, told = readHeader(ARGV[1]), ARGV[2], ARGV[3]

local tag = tagOf(rootKey)
checkTexts(header, 'session', 'from', 'seed')
checkNumbers(header, 'wakeupMs')
checkLast(told)
local workers, keys, due, open = listOf(header, 'workers'), textsOf(header, 'keys'), textsOf(header, 'due'), textsOf(header, 'open')
if redis.call('EXISTS', rootKey) == 1 then return { 'ok', redis.call('HGET', rootKey, 'startWakeups') or '' } end -- guard: a copy appears once
checkTextsIfAny(header, 'key')
local idemKey = header.key and tag .. ':idem:' .. header.key
if idemKey then checkNumbers(header, 'keyMs') end
local known = idemKey and readAnswer(idemKey, '^(%x+%-%x+%-%x+%-%x+%-%x+)$')
if known and known ~= header.session then return { 'again', known } end -- guard: idempotency key of a fork
checkScores(due, 1, #due)
checkScores(open, 1, #open)
checkSort('zset', sessionsKey, endsKey, timersKey, asksKey)
checkSort('set', cancellingKey)

local function bornKey(id)
  return tag .. ':fork:' .. header.session .. ':' .. id
end

local ids = {}
for index = 1, #workers do
  local worker = workers[index]
  checkTexts(worker, 'id')
  checkTextsIfAny(worker, 'queued')
  if ids[worker.id] then error('each worker should be there once', 0) end
  ids[worker.id] = true
end
if not workers[1] or workerKey(tag, workers[1].id) ~= rootKey then error('the first worker should be the root', 0) end

-- A Redis that failed over, or that took longer than these keys live, may have lost some keys, or the expiry of some.
local isThere = {}
for index = 1, #keys do
  local sort, size, name = string.match(keys[index], '^(%l+) (%d+) (.+)$')
  if not sizes[sort] then error('each key should have a sort and a size', 0) end
  local key = tag .. ':' .. name
  local found = redis.pcall(sizes[sort], key)
  if type(found) == 'table' then checkSort(sort, key) end
  if digits(found) ~= size or (size == '0' and redis.call('EXISTS', key) == 0) then return { 'lost', key } end -- guard: a copy that lost a key, or a part of one, does not appear
  keys[index], isThere[key] = key, true
end
for id in pairs(ids) do
  if not isThere[bornKey(id)] then error('the record of each worker should be among the keys', 0) end
end

local now, woke = nowMs(), newWakes()
redis.call('ZADD', sessionsKey, digits(now), header.session)
redis.call('ZADD', endsKey, goesOnSince(now), header.session) -- guard: a copy goes on
for index = 1, #keys do redis.call('PERSIST', keys[index]) end -- guard: the keys of a copy stay
for index = 1, #workers do
  local worker = workers[index]
  redis.call('RENAME', bornKey(worker.id), workerKey(tag, worker.id))
  if worker.queued then writeWokenRecord(tag, { id = worker.id, session = header.session, pool = worker.queued }, now, woke) end -- guard: a worker of a copy that has work is queued
end
local function addAll(zsetKey, scored)
  for from = 1, #scored, 1000 do redis.call('ZADD', zsetKey, unpack(scored, from, math.min(from + 999, #scored))) end
end
addAll(timersKey, due) -- guard: timers of a copy fire
addAll(asksKey, open) -- guard: asks of a copy are in the inbox
if header.isCancelling then
  redis.call('SADD', cancellingKey, header.session) -- guard: a copy finishes the cancels of its original
  redis.call('HSET', rootKey, 'endFrom', '0') -- guard: a copy looks at all cancels that its original was to finish
end
writeQueues(tag, woke)
local wakeups = writeWakeupsOf(tag, woke.pools, header.seed, now, header.wakeupMs) -- guard: wake-up rule on fork
if wakeups ~= '' then redis.call('HSET', rootKey, 'startWakeups', wakeups) end
if idemKey then redis.call('SET', idemKey, header.session, 'PX', digits(header.keyMs)) end
writeEvents(eventsKey, { header.session, event })
if redis.pcall('EXISTS', rootKeyOf(tag, header.from)) == 1 then writeEvents(eventsKey, { header.from, told }) end
return { 'ok', wakeups }
