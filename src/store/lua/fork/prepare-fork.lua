--[[ prepare-fork – writes keys of a copy that nobody sees yet, or the long history with which a session is to begin. Redis removes them after a time, unless
fork.lua or create-sessions.lua makes them stay.
Why a script   a key without an expiry would stay for ever if nobody finished the copy.
KEYS[1] root      hash               of the copy
ARGV[1] header    json:
  keptMs           how long the keys stay
  parts            in order; the parts of one key follow each other; each:
    key            behind the tag
    sort           list, hash, set, zset, string, or bytes: one piece of a string
    from           for a list or a string in pieces: its length before this part
    texts          how many of the texts below belong to it
ARGV[2] texts     then for each part its elements, its names and values, or its scores and members
Returns {"ok"}: also if the copy has appeared before; then nothing is written
        | {"lost", key}: this key has another length than the last part left
Builds  the keys that the header names; all belong to the copy.
Events  none. Writes nothing unless it returns "ok". Sent again it writes nothing more. ]]
local rootKey = KEYS[1]
local header = readHeader(ARGV[1])
local texts, cursor = ARGV, 2

local tag = tagOf(rootKey)
checkNumbers(header, 'keptMs')
if header.keptMs == 0 then error('the header should have a number keptMs above 0', 0) end
if redis.call('EXISTS', rootKey) == 1 then return { 'ok' } end -- guard: a call that comes late changes nothing of a copy that is there

local sorts = { list = 'list', hash = 'hash', set = 'set', zset = 'zset', string = 'string', bytes = 'string' }
local sizes = { hash = 2, zset = 2, string = 1, bytes = 1 }
local function checkPart(part, first)
  checkTexts(part, 'key', 'sort')
  checkNumbers(part, 'from', 'texts')
  local size, last = sizes[part.sort], first + part.texts - 1
  if not sorts[part.sort] then error('a part should be of a sort that is known', 0) end
  if part.texts < 1 or part.texts > 1000 or last > #texts then error('the texts should be as many as the parts say', 0) end
  if (size == 1 and part.texts ~= 1) or (size == 2 and part.texts % 2 ~= 0) then error('a part of this sort should have another number of texts', 0) end
  if part.sort == 'zset' then checkScores(texts, first, last) end
end

-- A key may have several parts in one call: of a list or a string in pieces, how long it is, and how long it should be before and behind them.
local known, lengths = {}, {}
local function readKey(part)
  local key, sort = part.fullKey, sorts[part.sort]
  local before = known[key]
  if not before then
    checkSort(sort, key)
    before = { sort = part.sort, from = part.from, to = part.from, key = key }
    known[key] = before
    if part.sort == 'list' or part.sort == 'bytes' then
      before.length = redis.call(part.sort == 'list' and 'LLEN' or 'STRLEN', key)
      lengths[#lengths + 1] = before
    end
  end
  if before.sort ~= part.sort then error('the parts of a key should be of one sort', 0) end
  if before.length then
    if part.from ~= before.to then error('the parts of a key should stand behind each other', 0) end
    before.to = part.from + (part.sort == 'list' and part.texts or #texts[part.first])
  end
  part.known = before
end

local parts = listOf(header, 'parts')
for index = 1, #parts do
  local part = parts[index]
  checkPart(part, cursor)
  part.fullKey, part.first, part.last = tag .. ':' .. part.key, cursor, cursor + part.texts - 1
  readKey(part)
  cursor = part.last + 1
end
if cursor - 1 ~= #texts then error('the texts should be as many as the parts say', 0) end
for index = 1, #lengths do
  local one = lengths[index]
  if one.length ~= one.from and one.length ~= one.to then return { 'lost', one.key } end -- guard: a copy that lost a part is not written on
end

local adds = { list = 'RPUSH', bytes = 'APPEND', hash = 'HSET', set = 'SADD', zset = 'ZADD', string = 'SET' }
for index = 1, #parts do
  local part = parts[index]
  local isWritten = part.known.length == part.known.to -- guard: a part of a copy is written once
  if not isWritten then redis.call(adds[part.sort], part.fullKey, unpack(texts, part.first, part.last)) end
  redis.call('PEXPIRE', part.fullKey, digits(header.keptMs)) -- guard: a copy that nobody finishes is removed after a time
end
return { 'ok' }
