--[[ gates – how many runs of a kind may be in progress at once (`runs`), and how many may begin within a time (`rate`): over all nodes, for all runs
of the kind or for each key of their inputs. A gate is <kind>:<sort>:<id>, where the id is a digest of the key, or `all`. T:gate:<gate> has its numbers,
T:gate:<gate>:in the workers whose runs are in progress, T:gate:<gate>:begun when the last runs began, T:gate:<gate>:waiting the workers that wait, in
their order. T:gates says when a sweep looks at each gate. In the record of a worker, `gates` is "<state> <id of runs> <id of rate>", - for none: its
run is `in`, waits at `runs` or at `rate`, or is `out`. A run that waits has the wait `gate`, and holds neither a slot nor a lease nor a place at
another gate. ]]

-- The gates of all partitions are in the first one. A run of another partition is a guest there: "<kind> <worker>:<version> <id of runs> <id of rate>",
-- with the number of commits at which it asked, so that no later run of the worker is taken for it. The guest is a member of the sets of its gates, and
-- its record has the version behind its gates. Each partition keeps the guest in its T:gates, with the time of its next word to the other one. The guest's
-- own partition keeps it from the time it asks until the first partition knows that the run is over. The first partition keeps it, behind "> ", from the time
-- the run may begin until the guest's partition knows that. A word may be lost, come twice, or come late: whoever gets it answers by what its own records say. A guest that waits has
-- the numbers of its gates in the field `gateNumbers`, "<most of runs> <most of rate> <perMs>", with - for none: the first partition may lose its gate.

-- How often a sweep looks at a gate at which nothing else is due: then it removes runs that are not in progress any more, whatever became of them.
local gateLookMs = 30000

local function gateOf(kind, sort, id)
  return id and (kind .. ':' .. sort .. ':' .. id)
end

local function gateKey(tag, gate)
  return tag .. ':gate:' .. gate
end

-- What a record says of gates; nil where it says nothing, or nothing that can be read: then its run holds no place.
local function readGates(text)
  local state, runs, rate, version = string.match(text or '', '^(%l+) (%S+) (%S+) ?(%d*)$')
  if not state then return nil end
  return { state = state, runs = runs ~= '-' and runs or nil, rate = rate ~= '-' and rate or nil, version = version ~= '' and version or nil }
end

local function gatesText(state, gates)
  return state .. ' ' .. (gates.runs or '-') .. ' ' .. (gates.rate or '-') .. (gates.version and ' ' .. gates.version or '')
end

local function guestText(kind, worker, gates)
  return kind .. ' ' .. worker .. ':' .. gates.version .. ' ' .. (gates.runs or '-') .. ' ' .. (gates.rate or '-')
end

-- nil where the text is no guest.
local function readGuest(text)
  local kind, worker, version, runs, rate = string.match(text, '^(%S+) ([%x-]+):(%d+) (%S+) (%S+)$')
  if not kind then return nil end
  return { kind = kind, worker = worker, version = version, gates = { runs = runs ~= '-' and runs or nil, rate = rate ~= '-' and rate or nil } }
end

-- What the field `gateNumbers` has for these gates, each {sort, most, perMs}.
local function gateNumbersText(at)
  local runs, rate = '- ', '- -'
  for index = 1, #at do
    local one = at[index]
    if one.perMs then rate = digits(one.most) .. ' ' .. digits(one.perMs) else runs = digits(one.most) .. ' ' end
  end
  return runs .. rate
end

-- A gate with the numbers that a run brings to it, as the header of a script has it.
local function checkBrought(one)
  checkTexts(one, 'sort', 'id')
  checkTextsIfAny(one, 'key')
  checkNumbers(one, 'most')
  checkNumbersIfAny(one, 'perMs')
end

local function checkGate(tag, gate)
  local key = gateKey(tag, gate)
  checkSort('hash', key)
  checkSort('zset', key .. ':in', key .. ':waiting')
  checkSort('list', key .. ':begun')
end

-- Checks the gates of a record whose run ends.
local function checkGatesOf(tag, record)
  local own = readGates(record.gates)
  if not own then return end
  if own.version then return checkSort('zset', tag .. ':gates') end
  if own.runs then checkGate(tag, gateOf(record.kind, 'runs', own.runs)) end
  if own.rate then checkGate(tag, gateOf(record.kind, 'rate', own.rate)) end
  checkSort('zset', tag .. ':gates')
end

-- When a run began, as the list of its gate has it. A time that cannot be read counts as long ago: it holds nobody back.
local function beganAt(text)
  return tonumber(text) or 0
end

-- If the clock was set back, runs seem to have begun in the future. They are taken to have begun now: else their gate would stay closed until the
-- clock is there again.
local function bringBegunNear(begunKey, most, now)
  local function isAhead(place) return beganAt(redis.call('LINDEX', begunKey, digits(place))) > now end
  if not isAhead(-most) and not isAhead(-1) then return end
  local begun = redis.call('LRANGE', begunKey, '0', '-1')
  for index = 1, #begun do
    if beganAt(begun[index]) > now then redis.call('LSET', begunKey, digits(index - 1), digits(now)) end -- guard: a rate counts no run ahead of the clock
  end
end

-- When the next run may begin, in ms: 0 is now, and math.huge is when a run that is in progress has ended.
local function opensAt(key, most, perMs, now)
  if not perMs then return redis.call('ZCARD', key .. ':in') < most and 0 or math.huge end -- guard: no more runs are in progress than a gate allows
  local before = redis.call('LINDEX', key .. ':begun', digits(-most))
  if not before then return 0 end
  local opens = math.min(beganAt(before), now) + perMs
  return opens > now and opens or 0 -- guard: no more runs begin within a time than a gate allows
end

-- The numbers of a gate as its last run had them. A gate that has lost its numbers holds nobody back.
local function numbersOf(key)
  local field = redis.call('HMGET', key, 'most', 'perMs')
  return tonumber(field[1] or nil) or 1e9, tonumber(field[2] or nil)
end

-- Notes the numbers that a run brings to its gates: at each one those of the other, too. A run that waits at one may
-- find that the other has gone.
local function writeNumbers(gates)
  for index = 1, #gates do
    local one, other = gates[index], gates[3 - index]
    redis.call('HSET', one.key, 'most', digits(one.most))
    if one.shown then redis.call('HSET', one.key, 'key', one.shown) end
    if one.perMs then redis.call('HSET', one.key, 'perMs', digits(one.perMs)) end
    if other then redis.call('HSET', one.key, 'otherMost', digits(other.most)) end
    if other and other.perMs then redis.call('HSET', one.key, 'otherPerMs', digits(other.perMs)) end
  end
end

-- If the other gate has gone, it gets its numbers back from this one, at which somebody waits and which keeps them, too.
local function bringNumbersBack(key, otherKey)
  if redis.call('HEXISTS', otherKey, 'most') == 1 then return end
  local field = redis.call('HMGET', key, 'most', 'perMs', 'otherMost', 'otherPerMs')
  local most, perMs, otherMost, otherPerMs = unpack(field, 1, 4)
  if not most or not otherMost then return end
  redis.call('HSET', otherKey, 'most', otherMost, 'otherMost', most)
  if otherPerMs then redis.call('HSET', otherKey, 'perMs', otherPerMs) end
  if perMs then redis.call('HSET', otherKey, 'otherPerMs', perMs) end
end

local function opensNext(key, now)
  local most, perMs = numbersOf(key)
  return opensAt(key, most, perMs, now)
end

-- Puts a run behind all that wait at the gate. Their scores are the times at which they came, and the clock may have been set back since.
local function writeWaits(key, id, now)
  local last = redis.call('ZRANGE', key .. ':waiting', '-1', '-1', 'WITHSCORES')[2]
  redis.call('ZADD', key .. ':waiting', digits(last and math.max(now, tonumber(last) + 1) or now), id) -- guard: a run waits behind all that came before, even if the clock was set back
end

-- Has a sweep look at the gate at this time, or earlier.
local function noteGate(tag, gate, at, now)
  redis.call('ZADD', tag .. ':gates', 'LT', digits(at == math.huge and now + gateLookMs or math.max(at, now)), gate)
end

-- Notes at the gates that a run begins: in progress at the one, begun at the other.
local function writeBegun(tag, id, kind, gates, now)
  if gates.runs then
    local gate = gateOf(kind, 'runs', gates.runs)
    redis.call('ZADD', gateKey(tag, gate) .. ':in', digits(now), id) -- guard: a run that begins counts at its gate
    noteGate(tag, gate, math.huge, now)
  end
  if gates.rate then
    local gate = gateOf(kind, 'rate', gates.rate)
    local key = gateKey(tag, gate)
    local most, perMs = numbersOf(key)
    redis.call('RPUSH', key .. ':begun', digits(now)) -- guard: a run that begins counts within its time
    redis.call('LTRIM', key .. ':begun', digits(-most), '-1')
    noteGate(tag, gate, now + (perMs or 0), now)
  end
end

-- Removes a run that is over from its gates. Returns what the record says then, and whether somebody waits for the run's place.
local function writeLeft(tag, id, record, now)
  local own = readGates(record.gates)
  if not own or own.state == 'out' then return record.gates or atStart.gates, false end
  local runs, isAwaited = gateOf(record.kind, 'runs', own.runs), false
  if own.version then
    redis.call('ZADD', tag .. ':gates', digits(now), guestText(record.kind, id, own)) -- guard: a guest whose run ends frees its place
    isAwaited = true
  elseif own.state ~= 'in' then
    redis.call('ZREM', gateKey(tag, gateOf(record.kind, own.state, own[own.state]) or '') .. ':waiting', id) -- guard: a run that ends waits at no gate
  elseif runs then
    redis.call('ZREM', gateKey(tag, runs) .. ':in', id) -- guard: a run that ends frees its place
    isAwaited = redis.call('EXISTS', gateKey(tag, runs) .. ':waiting') == 1
    if isAwaited then
      noteGate(tag, runs, 0, now) -- guard: a free place goes to the next run
    elseif redis.call('EXISTS', gateKey(tag, runs) .. ':in') == 0 then
      redis.call('DEL', gateKey(tag, runs))
      redis.call('ZREM', tag .. ':gates', runs) -- guard: a gate is removed with its last run
    end
  end
  return gatesText('out', own), isAwaited
end

-- A worker that waits at this gate: what lets it begin. nil where it does not wait there any more.
local function readWaiting(tag, id, sort, gateId)
  local guest = readGuest(id)
  if guest then return { id = id, gates = guest.gates, isGuest = true } end
  local recordKey = workerKey(tag, id)
  local field = readFields(recordKey, 'status', 'wait', 'gates', 'kind', 'pool', 'path1')
  local gates = readGates(field[3] or nil)
  if field[1] ~= 'parked' or field[2] ~= 'gate' or not gates or gates.state ~= sort or gates[sort] ~= gateId then return nil end -- guard: a run that waits at a gate no longer leaves its queue
  local session = sessionOf(id, field[6])
  local isPaused = readFields(rootKeyOf(tag, session), 'paused')[1] and true
  return { id = id, session = session, pool = field[5] or atStart.pool, kind = field[4], gates = gates, recordKey = recordKey, isPaused = isPaused }
end

-- A run of a paused session takes no place that others wait for. It leaves its gate, the next claim keeps it for its resume, and then it asks anew.
local function writePassedOver(tag, one, now, woke)
  writeWokenRecord(tag, one, now, woke)
  redis.call('HSET', one.recordKey, 'gates', gatesText('out', one.gates), 'wait', atStart.wait)
end

-- Removes runs that the set of the gate calls in progress and their own records do not: Redis lost some of its past, or another program wrote here. It
-- looks at a part of them, elsewhere each time.
local function healPlaces(tag, key, gateId, now)
  local most = 32
  local from = now % (math.max(0, redis.call('ZCARD', key .. ':in') - most) + 1)
  local ids = redis.call('ZRANGE', key .. ':in', digits(from), digits(from + most - 1))
  for index = 1, #ids do
    local isGuest = readGuest(ids[index]) ~= nil
    if isGuest then redis.call('ZADD', tag .. ':gates', 'NX', digits(now), '> ' .. ids[index]) end -- guard: a guest that is gone frees its place
    local text = isGuest and {} or redis.pcall('HGET', workerKey(tag, ids[index]), 'gates')
    local gates = type(text) ~= 'table' and readGates(text or nil)
    if type(text) ~= 'table' and not (gates and gates.state == 'in' and gates.runs == gateId) then
      redis.call('ZREM', key .. ':in', ids[index]) -- guard: a place that nobody holds goes to the next run
    end
  end
end

-- Lets workers begin that may, in the order in which they came, and notes when a sweep looks again. A worker that must wait at the other gate of its
-- kind goes there, with its place in the order. Returns how many workers it has queued.
local function writeAdmitted(tag, gate, now, woke)
  local looksMost = 32
  local kind, sort, gateId = string.match(gate, '^(%S+):(%l+):(%S+)$')
  if not kind then
    redis.call('ZREM', tag .. ':gates', gate)
    return 0
  end
  local key, other = gateKey(tag, gate), sort == 'runs' and 'rate' or 'runs'
  checkGate(tag, gate)
  if sort == 'runs' then healPlaces(tag, key, gateId, now) end
  local most, perMs = numbersOf(key)
  if perMs then bringBegunNear(key .. ':begun', most, now) end
  local waiting = redis.call('ZRANGE', key .. ':waiting', '0', digits(looksMost - 1), 'WITHSCORES')
  local opens, began, left = opensAt(key, most, perMs, now), 0, 0
  for index = 1, #waiting, 2 do
    if opens > 0 then break end
    local fine, one = pcall(readWaiting, tag, waiting[index], sort, gateId)
    if not fine and not damageOf(one) then error(one, 0) end
    local elsewhere = fine and one and gateOf(kind, other, one.gates[other])
    if elsewhere then fine = pcall(checkGate, tag, elsewhere) end
    if fine then
      redis.call('ZREM', key .. ':waiting', waiting[index])
      left = left + 1
      if one and one.isPaused then -- guard: a run of a paused session takes no place at a gate
        writePassedOver(tag, one, now, woke)
        began, one = began + 1, nil
      end
      if one and elsewhere then bringNumbersBack(key, gateKey(tag, elsewhere)) end -- guard: a gate that has gone limits those that wait at the other one
      local otherOpens = elsewhere and opensNext(gateKey(tag, elsewhere), now) or 0
      if one and otherOpens > 0 then
        redis.call('ZADD', gateKey(tag, elsewhere) .. ':waiting', waiting[index + 1], one.id) -- guard: a run that passes one gate waits at the other
        if not one.isGuest then redis.call('HSET', one.recordKey, 'gates', gatesText(other, one.gates)) end
        noteGate(tag, elsewhere, otherOpens, now)
      elseif one then
        writeBegun(tag, one.id, kind, one.gates, now)
        if one.isGuest then
          redis.call('ZADD', tag .. ':gates', digits(now), '> ' .. one.id) -- guard: a guest learns that it may begin
        else
          writeWokenRecord(tag, one, now, woke)
          redis.call('HSET', one.recordKey, 'gates', gatesText('in', one.gates), 'wait', atStart.wait)
        end
        began = began + 1
      end
      opens = opensAt(key, most, perMs, now)
    end
  end
  local newest = perMs and beganAt(redis.call('LINDEX', key .. ':begun', '-1'))
  if redis.call('EXISTS', key .. ':waiting') == 1 then
    -- If all workers that it looked at are damaged, a sweep looks again some time later.
    local at = opens == 0 and (left > 0 and now or now + gateLookMs) or opens == math.huge and now + gateLookMs or opens
    redis.call('ZADD', tag .. ':gates', digits(at), gate)
  elseif perMs and newest + perMs > now then
    redis.call('ZADD', tag .. ':gates', digits(newest + perMs), gate)
  elseif not perMs and redis.call('EXISTS', key .. ':in') == 1 then
    redis.call('ZADD', tag .. ':gates', digits(now + gateLookMs), gate)
  else
    redis.call('DEL', key, key .. ':begun')
    redis.call('ZREM', tag .. ':gates', gate) -- guard: a gate without runs is removed
  end
  return began
end

-- When a run that comes now to these gates may begin, each {key, most, perMs}. Returns the first gate at which it must wait, by its place, and when that
-- opens; or "never", if all runs that are in progress there wait for it.
local function closedAmong(at, now, isOfAncestors)
  local closed, opens
  for index = 1, #at do
    local one = at[index]
    local when = opensAt(one.key, one.most, one.perMs, now)
    if when == math.huge and isOfAncestors(one.key) then return 'never' end -- guard: a run that waits for a place of its ancestors learns so
    local isBehind = redis.call('EXISTS', one.key .. ':waiting') == 1 -- guard: nobody overtakes those that wait at a gate
    if not closed and (when > 0 or isBehind) then closed, opens = index, when end
  end
  return closed, opens
end

-- How a guest stands by its record: in, waits or out; later: the record does not say yet, and the guest may still come.
local function standingOf(tag, guest)
  local field = readFields(workerKey(tag, guest.worker), 'gates', 'status', 'commit', 'wait')
  local own = readGates(field[1] or nil)
  if own and own.version == guest.version then
    if own.state == 'in' or own.state == 'out' then return own.state end
    return field[2] == 'parked' and field[4] == 'gate' and 'waits' or 'later'
  end
  local version = string.match(field[3] or '', ':(%d+)$') or '0'
  local mayCome = version == guest.version and (field[2] == 'running' or field[2] == 'queued')
  return mayCome and 'later' or 'out' -- guard: a guest that may still come keeps its place
end
