--[[ cut – reads a live session at one moment, to make a copy of it. Histories only grow, so it reads only their lengths.
A large session takes several calls, each for a part of its workers. The last call names what the earlier ones read, and reads again each worker
that has changed since.
Why a script   in separate reads a message could be in the mailbox and in the history, or in neither.
KEYS[1] root      hash               KEYS[2] workers  list               KEYS[3] timers   zset
KEYS[4] cancelling set
ARGV[1] header    json:
  session          id
  from             position of the first worker that is looked at; the root is 0
  seen             `seen` of each worker from there on, as earlier calls returned it: a worker that has not changed is passed over
  workersMost      a session of more workers is refused
  partMost         how many workers one call reads at most
  bytesMost        how many bytes of mailboxes, states and asks one call reads at most
Returns {"ok", workers, cancelled, reasons, cancelling, result}: all parts are read
        | {"part", workers, next}: more is to be read
        | {"not_found"} | {"finished", state} | {"too_many", workers} | {"too_large", worker}: one worker alone has more bytes
        workers: those read by this call, each {id, record, history length, parts, due, asks, position, seen}
          parts: names of its keys, each with its content
          due: names and times of its timers in turn
          asks: ids and records of its open asks in turn
        next: position of the first worker that was not read; or empty
        cancelled: ids in the session's set of cancels
        reasons: names and values in turn
        cancelling: 1 if a cancel is not finished, else 0
        result: of the last run of the root; null: it has none. A retry may take it away; those of earlier runs stay as they are
Builds  T:w:<id> and its keys, T:ask:<id> of open asks, T:s:<session>:cancelled, T:s:<session>:reasons, T:s:<session>:results.
Events  none. It writes nothing. ]]
local rootKey, workersKey, timersKey, cancellingKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local header = readHeader(ARGV[1])

local tag = tagOf(rootKey)
checkTexts(header, 'session')
checkNumbers(header, 'from', 'workersMost', 'partMost', 'bytesMost')
local seen = textsOf(header, 'seen')
local kind, path, cancel, ended = unpack(readFields(rootKey, 'kind', 'path1', 'cancel', 'ended'))
if not kind or path then return { 'not_found' } end -- guard: a session that is forked has a root
local state = stateOf(cancel, ended)
if state ~= 'active' then return { 'finished', state } end -- guard: a session that is over is not forked
local count = lengthOf(workersKey) + 1
if count > header.workersMost then return { 'too_many', digits(count) } end -- guard: a fork looks at few workers at one moment
checkSort('zset', timersKey)
checkSort('set', cancellingKey)

-- Texts in pieces, so that a full mailbox is never read whole once there is too much: one by one where they are long.
local bytes = 0
local function counted(texts)
  for index = 1, #texts do bytes = bytes + #texts[index] end
  return texts
end
local function isFull() return bytes > header.bytesMost end -- guard: a fork holds Redis for few bytes

local function listAt(key)
  local all, most = {}, 1
  while not isFull() do
    local before, asked = bytes, most
    local piece = counted(redis.call('LRANGE', key, #all, #all + asked - 1))
    for index = 1, #piece do all[#all + 1] = piece[index] end
    if #piece < asked then break end
    most = bytes - before < 4096 and math.min(asked * 2, 64) or 1
  end
  return all
end

local function dueOf(id, recordKey, wait)
  local due = {}
  local function add(name)
    local score = redis.call('ZSCORE', timersKey, id .. ':' .. name)
    if score then
      due[#due + 1] = name
      due[#due + 1] = score
    end
  end
  local timers = redis.call('HKEYS', recordKey .. ':timers')
  for index = 1, #timers do add(timers[index]) end
  if wait == 'retry' then add('retry') end -- guard: a copy has the retries of its original
  local asks, records = redis.call('SMEMBERS', recordKey .. ':asks'), {}
  for index = 1, #asks do
    add('ask:' .. asks[index])
    records[index] = { asks[index], counted(redis.call('HGETALL', askKey(tag, asks[index]))) }
  end
  return due, records
end

-- Describes a worker in a few characters, which change when anything changes that a copy takes. Mails come and go, asks end and timers fire
-- only with a change of its record or of the length of a lane.
local function readSeen(recordKey)
  local flat = redis.pcall('HGETALL', recordKey)
  if flat.err then checkSort('hash', recordKey) end
  local all, length = table.concat(flat, '\0'), lengthOf(recordKey .. ':log')
  local lengths = all .. ' ' .. length .. ' ' .. lengthOf(recordKey .. laneKeys.signals) .. ' ' .. lengthOf(recordKey .. laneKeys.results) .. ' ' .. lengthOf(recordKey .. laneKeys.inbox)
  return all, length, string.sub(redis.sha1hex(lengths), 1, 16)
end

-- If workers wait for very many timers and asks, a call reads few of these workers. It reads a worker that has more of them than this by itself.
local workers, signals, signalsMost = {}, 0, 1000
local function isTooMuch(record)
  local open = tonumber(record.signalsOpen or atStart.signalsOpen) or 0
  signals = signals + open
  return open > 0 and #workers > 0 and signals > signalsMost
end

-- Returns nothing for a worker that is as it was known; then whether it is left to the next call.
local function cutOf(id, position, known)
  local recordKey = workerKey(tag, id)
  local all, length, now = readSeen(recordKey)
  if now == known then return nil end -- guard: a fork reads a changed worker again
  local record = readRecord(recordKey)
  checkRecord(recordKey, record)
  if isTooMuch(record) then return nil, true end -- guard: a fork holds Redis for few timers and asks
  local parts = {}
  local function part(name, texts)
    if #texts > 0 then parts[#parts + 1] = { name, texts } end
  end
  for _, lane in pairs(laneKeys) do part(lane, listAt(recordKey .. lane)) end
  if record.pendingCalls then part(':mail:large', counted(redis.call('HGETALL', largeKeyOf(recordKey)))) end -- guard: a copy has the large results of its original
  if record.data == '@' then part(':state', counted({ redis.call('GET', recordKey .. ':state') or '' })) end
  if record.failed == '1' then part(':failure', counted({ redis.call('GET', recordKey .. ':failure') or '' })) end
  if record.atOnce then part(':waiting', listAt(recordKey .. ':waiting')) end
  local due, asks = {}, {}
  if record.signalsOpen or record.wait == 'retry' then
    part(':timers', counted(redis.call('HGETALL', recordKey .. ':timers')))
    due, asks = dueOf(id, recordKey, record.wait)
  end
  return { id, all, length, parts, due, asks, position, now }
end

local ids = redis.call('LRANGE', workersKey, math.max(header.from - 1, 0), -1)
if header.from == 0 then table.insert(ids, 1, rootOf(header.session)) end
for index = 1, #ids do
  local position = header.from + index - 1
  local worker, isLeft = cutOf(ids[index], position, seen[index])
  if isFull() and #workers == 0 then return { 'too_large', ids[index] } end
  if isLeft or (worker and (isFull() or #workers == header.partMost)) then return { 'part', workers, digits(position) } end -- guard: a fork holds Redis for few workers
  workers[#workers + 1] = worker
end
if header.from > 0 then return { 'part', workers, '' } end
local base = sessionKey(tag, header.session)
local cancelled, reasons = redis.call('SMEMBERS', base .. ':cancelled'), redis.call('HGETALL', base .. ':reasons')
-- There may be a hundred thousand results, so no call reads all of them.
local last = digits((tonumber(readFields(rootKey, 'run')[1] or atStart.run) or 1) - 1)
return { 'ok', workers, cancelled, reasons, redis.call('SISMEMBER', cancellingKey, header.session), readFields(base .. ':results', last)[1] }
