--[[ asks – what a worker asks of somebody outside: a record for each ask, the asks of each session, and the inbox of those that are open.
An ask ends once: it is answered, it expires, or the end of its run withdraws it. Its worker counts it among the signals that it waits for. ]]

local function askKey(tag, id)
  return tag .. ':ask:' .. id
end

-- The name of an ask's expiry in the set of timers, beside `<worker>:<timer>` and `<worker>:retry`.
local function expiryOf(worker, ask)
  return worker .. ':ask:' .. ask
end

local function checkAskKeys(tag, recordKey, session)
  checkSort('zset', tag .. ':asks', tag .. ':timers', sessionKey(tag, session) .. ':asks')
  checkSort('set', recordKey .. ':asks')
end

-- Writes these asks into the sets in which they stand, all at once: one by one they cost as much as their records.
local function writeToSets(tag, turn, asks, first, last, at)
  local scored, ids = {}, {}
  for index = first, last do
    local number = index - first + 1
    scored[2 * number - 1], scored[2 * number], ids[number] = at, asks[index].id, asks[index].id
  end
  redis.call('ZADD', tag .. ':asks', unpack(scored))
  redis.call('ZADD', sessionKey(tag, turn.session) .. ':asks', unpack(scored))
  redis.call('SADD', turn.recordKey .. ':asks', unpack(ids))
end

-- Writes the asks of a step. The keys were checked.
local function writeAsks(tag, turn, now)
  local commit, at, listens = turn.commit, digits(now), hasEndpoints(tag)
  for index = 1, #commit.asks do
    local ask = commit.asks[index]
    local fields = { 'session', turn.session, 'worker', commit.worker, 'run', turn.run, 'sort', ask.sort, 'body', ask.body, 'at', at }
    if ask.ms then
      local expires = digits(now + ask.ms)
      local more = { 'expires', expires, 'onExpiry', ask.onExpiry }
      for part = 1, #more do fields[#fields + 1] = more[part] end
      redis.call('ZADD', tag .. ':timers', expires, expiryOf(commit.worker, ask.id))
    end
    redis.call('HSET', askKey(tag, ask.id), unpack(fields))
    if listens then writeNotice(tag, commit.worker .. ':notify:' .. ask.id, now) end -- guard: endpoints get an ask
  end
  for first = 1, #commit.asks, 1000 do writeToSets(tag, turn, commit.asks, first, math.min(first + 999, #commit.asks), at) end
end

-- Open asks of a worker, 1 000 at most, end in this state, with further fields for their records. Another program may have written over a record.
local function writeAskEnds(tag, worker, asks, state, now, ...)
  local expiries, endedAt = {}, digits(now)
  for index = 1, #asks do expiries[index] = expiryOf(worker, asks[index]) end
  redis.call('ZREM', tag .. ':asks', unpack(asks)) -- guard: an ask that has ended leaves the inbox
  redis.call('SREM', workerKey(tag, worker) .. ':asks', unpack(asks))
  redis.call('ZREM', tag .. ':timers', unpack(expiries)) -- guard: an ask that has ended does not expire
  for index = 1, #asks do redis.pcall('HSET', askKey(tag, asks[index]), 'state', state, 'endedAt', endedAt, ...) end
end

local function writeAskEnd(tag, worker, ask, state, now, ...)
  writeAskEnds(tag, worker, { ask }, state, now, ...)
end

-- The run has ended, or was cancelled: nobody waits for an answer any more.
local function writeWithdrawn(tag, worker, now)
  local asks = redis.call('SMEMBERS', workerKey(tag, worker) .. ':asks')
  for from = 1, #asks, 1000 do
    writeAskEnds(tag, worker, { unpack(asks, from, math.min(from + 999, #asks)) }, 'withdrawn', now) -- guard: the end of a run withdraws its asks
  end
end
