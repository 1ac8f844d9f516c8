--[[ cut – a picture of a live session at one moment, of which a copy is made: all but the histories. Those only grow, so their lengths are enough.
Why a script   read one after the other, a message could be in the mailbox and in the history, or in neither.
KEYS[1] root      hash               KEYS[2] workers  list               KEYS[3] timers   zset
KEYS[4] cancelling set
ARGV[1] header    json:
  session          id
  workersMost      a session of more workers is refused
  partMost         most workers that one call reads
  bytesMost        most bytes of mailboxes, states and asks that one call reads
Returns {"ok", workers, cancelled, reasons, cancelling, originals, results, permissions}: with what was seen, this is the picture
        | {"part", workers, next}: next: the position of the first one that was not looked at, or empty
        | {"not_found"} | {"finished", state} | {"too_many", workers} | {"too_large", worker}: one worker alone has more bytes.
        Of each worker that was read {id, record, history length, parts, due, asks, position, seen}: parts as names of its keys with all that they hold, due as
        names and times in turn, asks as ids with their records. cancelled: its set; reasons and results: names and values in turn; cancelling: 1 or 0;
        originals: of a session that is itself a copy, ids of the original and its own in turn; permissions: digests and texts in turn
Builds  T:w:<id> and its keys, T:ask:<id> of open asks, T:s:<session>:cancelled, T:s:<session>:reasons, T:s:<session>:results,
        T:s:<session>:originals, T:s:<session>:permissions.
Events  none. It writes nothing. ]]
local rootKey, workersKey, timersKey, cancellingKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local header = readHeader(ARGV[1])

local tag = tagOf(rootKey)
checkTexts(header, 'session')
checkNumbers(header, 'workersMost', 'bytesMost')
local kind, path, cancel, ended = unpack(readFields(rootKey, 'kind', 'path1', 'cancel', 'ended'))
if not kind or path then return { 'not_found' } end -- guard: a session that is forked has a root
local state = stateOf(cancel, ended)
if state ~= 'active' then return { 'finished', state } end -- guard: a session that is over is not forked
local count = lengthOf(workersKey) + 1
if count > header.workersMost then return { 'too_many', digits(count) } end -- guard: a fork holds Redis for few workers
checkSort('zset', timersKey)
checkSort('set', cancellingKey)

-- Texts in pieces, so that a full mailbox is never read whole once there is too much.
local bytes = 0
local function counted(texts)
  for index = 1, #texts do bytes = bytes + #texts[index] end
  return texts
end
local function isFull() return bytes > header.bytesMost end -- guard: a fork holds Redis for few bytes

local function listAt(key)
  local all = {}
  repeat
    local piece = counted(redis.call('LRANGE', key, #all, #all + 63))
    for index = 1, #piece do all[#all + 1] = piece[index] end
  until #piece < 64 or isFull()
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
  if wait == 'retry' then add('retry') end -- guard: a copy tries again what its original does
  local asks, records = redis.call('SMEMBERS', recordKey .. ':asks'), {}
  for index = 1, #asks do
    add('ask:' .. asks[index])
    records[index] = { asks[index], counted(redis.call('HGETALL', askKey(tag, asks[index]))) }
  end
  return due, records
end

local function cutOf(id)
  local recordKey = workerKey(tag, id)
  local record, flat = readRecord(recordKey)
  checkRecord(recordKey, record)
  local parts = {}
  local function part(name, texts)
    if #texts > 0 then parts[#parts + 1] = { name, texts } end
  end
  for _, lane in pairs(laneKeys) do part(lane, listAt(recordKey .. lane)) end
  if record.data == '@' then part(':state', counted({ redis.call('GET', recordKey .. ':state') or '' })) end
  if record.failed == '1' then part(':failure', counted({ redis.call('GET', recordKey .. ':failure') or '' })) end
  if record.atOnce then part(':waiting', listAt(recordKey .. ':waiting')) end
  local due, asks = {}, {}
  if record.signalsOpen or record.wait == 'retry' then
    part(':timers', counted(redis.call('HGETALL', recordKey .. ':timers')))
    due, asks = dueOf(id, recordKey, record.wait)
  end
  return { id, table.concat(flat, '\0'), lengthOf(recordKey .. ':log'), parts, due, asks }
end

local workers, ids = { cutOf(rootOf(header.session)) }, redis.call('LRANGE', workersKey, 0, -1)
for index = 1, #ids do
  if not isFull() then workers[#workers + 1] = cutOf(ids[index]) end
end
if isFull() then return { 'too_large', digits(bytes) } end
local base = sessionKey(tag, header.session)
local cancelled, reasons = redis.call('SMEMBERS', base .. ':cancelled'), redis.call('HGETALL', base .. ':reasons')
local originals, results = redis.call('HGETALL', originalsKeyOf(tag, header.session)), redis.call('HGETALL', base .. ':results')
local permissions = redis.call('HGETALL', permissionsKeyOf(tag, header.session))
return { 'ok', workers, cancelled, reasons, redis.call('SISMEMBER', cancellingKey, header.session), originals, results, permissions }
