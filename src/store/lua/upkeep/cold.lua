--[[ cold – finds cold histories that are not packed yet. The nodes of a partition share one walk over all its sessions.
Why a script   the position of the walk must be read and written together, or two nodes would make the walk at once.
KEYS[1] ends      zset               KEYS[2] meta     hash
ARGV[1] header    json:
  node             id. One node at a time makes the walk; its position is in meta
  done             position up to which everything found is packed; empty: the position in meta
  coldMs           a history that was written to more recently is passed over
  everyMs          a walk begins no earlier than this after the last call of the one before
  restMs           nor earlier than this after the last call of this one: it grows with how long the walk takes
  batch            how many workers one call looks at
  growsTo          a pack of fewer bytes takes further entries
Returns {next, found}
        next: the position from which the walk goes on once the found histories are packed; empty: the walk is over, or another node makes it
        found: for each history {worker, position of the pack that takes further entries, or the next field again; first position that is not
        packed; history length}
Builds  T:w:<id> and its log; T:s:<session>:workers.
Events  none. ]]
local endsKey, metaKey = KEYS[1], KEYS[2]
local header = readHeader(ARGV[1])

local tag = tagOf(endsKey)
local now = nowMs()
checkTexts(header, 'node', 'done')
checkNumbers(header, 'coldMs', 'everyMs', 'restMs', 'batch', 'growsTo')
local node, done, coldMs, batch, growsTo = header.node, header.done, header.coldMs, header.batch, header.growsTo
checkSort('hash', metaKey)
checkSort('zset', endsKey)

-- In meta: `coldAt`, when the node of the walk last asked; `cold`, how far the walk is, and that node; `coldEnds`, the time up to which the sessions that
-- have ended are done; `coldRest`, how long no walk begins after the last one. How far: "<score> <sessions of that score that are done> <workers of the
-- next session that are done>", or "end <score>".
local meta = redis.call('HMGET', metaKey, 'coldAt', 'cold', 'coldEnds', 'coldRest')
local last, reached, whose = tonumber(meta[1] or 0) or 0, string.match(meta[2] or '', '^(.-) ?(%S*)$')
local rest = whose == '' and tonumber(meta[4] or 0) or 0 -- guard: walks over cold histories are a small part of the time
if whose ~= node and now - last < math.max(header.everyMs, rest) and last <= now then return { '', {} } end -- guard: one node makes a walk over cold histories
if done == '' then done = reached end -- guard: a walk over cold histories outlives its node
local from, passed, skipped = string.match(done, '^(%-?%d+) (%d+) (%d+)$')
local isOver = string.match(done, '^end (%-?%d+)$')
from, passed, skipped = tonumber(from or isOver or -1e16), tonumber(passed or 0), tonumber(skipped or 0)
-- Sessions that go on come first, each time. Of the sessions that have ended, it looks only at those that ended since the last walk: nothing is
-- written to older ones any more.
local endsFrom = math.max(tonumber(meta[3] or 0) or 0, isOver and from + 1 or from)
-- The script writes this last. A Redis that is full refuses a first write that may take room; packing makes room.
local function remember(done, node)
  redis.call('HDEL', metaKey, 'cold')
  redis.call('HSET', metaKey, 'coldAt', digits(now), 'cold', done .. ' ' .. node, 'coldEnds', digits(math.max(0, endsFrom)), 'coldRest', digits(header.restMs)) -- guard: a walk over cold histories passes over what it has packed
end
if isOver then
  remember('', '')
  return { '', {} }
end

-- A batch ends early where it reads much.
local bytesLeft = 1048576
local function elementAt(log, position)
  local element = redis.call('LINDEX', log, digits(position)) or ''
  bytesLeft = bytesLeft - #element
  return element
end

-- An entry as it was written. All that is packed stands before all that is not.
local function isRaw(element)
  return string.sub(element, 1, 1) == '{'
end

-- The first position that is not packed, if the last one is not: the search goes from the end in ever larger steps, then between two of them.
local function firstRaw(log, length)
  if isRaw(elementAt(log, 0)) then return 0 end
  local high, step = length - 1, 1
  while high > step and isRaw(elementAt(log, high - step)) do
    high = high - step
    step = step * 2
  end
  local low = math.max(0, high - step)
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if isRaw(elementAt(log, middle)) then high = middle else low = middle end
  end
  return high
end

-- Where the pack before this position begins, if it takes more entries; else this position.
local function startOf(log, first)
  if first == 0 then return 0 end
  local start = first - 1 - (tonumber(string.match(elementAt(log, first - 1), '^%d+') or '') or first)
  local bytes = start >= 0 and tonumber(string.match(elementAt(log, start), '^z%d+ (%d+) ') or '')
  return bytes and bytes < growsTo and start or first
end

local found = {}
local function look(id)
  local record = workerKey(tag, id)
  local log = record .. ':log'
  local newest = elementAt(log, -1)
  local at = isRaw(newest) and tonumber(string.match(newest, '"at":(%d+)') or '')
  if not at or now - at < coldMs then return end -- guard: a history that was written to a moment ago is not packed
  local status = redis.call('HGET', record, 'status')
  if not status or status == 'running' or status == 'queued' then return end -- guard: a history that is about to be read is not packed
  local length = redis.call('LLEN', log)
  local first = firstRaw(log, length)
  local start = startOf(log, first)
  if length - start > 1 then found[#found + 1] = { id, digits(start), digits(first), digits(length) } end
end

-- Looks at the rest of one session; returns whether that was all of it.
local function lookAt(session)
  if batch <= 0 or bytesLeft <= 0 then return false end -- guard: a walk over cold histories reads no list of workers that it does not look at
  local workersFrom, most = math.max(0, skipped - 1), batch
  local ids = redis.call('LRANGE', sessionKey(tag, session) .. ':workers', digits(workersFrom), digits(workersFrom + most - 1))
  local isWhole = #ids < most
  if skipped == 0 then table.insert(ids, 1, rootOf(session)) end
  for index = 1, #ids do
    if batch <= 0 or bytesLeft <= 0 then return false end
    -- What is damaged is left as it is: the audit names it.
    local fine, why = pcall(look, ids[index])
    if not fine and not damageOf(why) then error(why, 0) end
    batch, skipped = batch - 1, skipped + 1
  end
  return isWhole
end

local to = from < 0 and '(0' or digits(now - coldMs)
passed = math.min(passed, redis.call('ZCOUNT', endsKey, digits(from), digits(from)))
local sessions = redis.call('ZRANGEBYSCORE', endsKey, digits(from), to, 'WITHSCORES', 'LIMIT', digits(passed), digits(batch))
local isLast = #sessions < batch * 2
for index = 1, #sessions, 2 do
  local fine, isDone = pcall(lookAt, sessions[index])
  if not fine and not damageOf(isDone) then error(isDone, 0) end
  isLast = isLast and (not fine or isDone)
  if fine and not isDone then break end
  local score = tonumber(sessions[index + 1])
  from, passed, skipped = score, (score == from and passed or 0) + 1, 0
end
local next = digits(from) .. ' ' .. digits(passed) .. ' ' .. digits(skipped)
if isLast then next = to == '(0' and digits(math.max(0, endsFrom)) .. ' 0 0' or 'end ' .. digits(from) end
remember(done, node)
return { next, found }
