--[[ prepare-fork – writes keys of a copy that nobody sees yet. They go by themselves, unless fork.lua makes them stay.
Why a script   a key without an end to its life would stay for ever if nobody went on.
KEYS[1] sessions  zset
ARGV[1] header    json:
  keptMs           how long the keys stay
  parts            in order, each:
    key            behind the tag
    sort           list, hash, set, zset, string, or bytes: one piece of a string
    from           of a list or a string in pieces: how long it is before
    texts          how many texts are for it
ARGV[2] texts     of each part: elements; names and values; or scores and members, in turn
Returns {"ok"} | {"lost", key}: it is not as long as it was left
Builds  the keys that the header names, all of them of the copy.
Events  none. Sent again it writes nothing more. ]]
local sessionsKey = KEYS[1]
local header = readHeader(ARGV[1])
local texts, cursor = ARGV, 2

local tag = tagOf(sessionsKey)
checkNumbers(header, 'keptMs')
local parts, adds = listOf(header, 'parts'), { hash = 'HSET', set = 'SADD', zset = 'ZADD', string = 'SET' }
for index = 1, #parts do
  local part = parts[index]
  checkTexts(part, 'key', 'sort')
  checkNumbers(part, 'from', 'texts')
  local key, last = tag .. ':' .. part.key, cursor + part.texts - 1
  if part.sort == 'list' then
    local length = lengthOf(key)
    if length ~= part.from and length ~= part.from + part.texts then return { 'lost', key } end
    if length == part.from then redis.call('RPUSH', key, unpack(texts, cursor, last)) end -- guard: a part of a copy is written once
  elseif part.sort == 'bytes' then
    checkSort('string', key)
    local length = redis.call('STRLEN', key)
    if length ~= part.from and length ~= part.from + #texts[cursor] then return { 'lost', key } end
    if length == part.from then redis.call('APPEND', key, texts[cursor]) end -- guard: a piece of a blob of a copy is written once
  else
    redis.call(adds[part.sort], key, unpack(texts, cursor, last))
  end
  redis.call('PEXPIRE', key, digits(header.keptMs)) -- guard: a copy that nobody finishes goes by itself
  cursor = last + 1
end
return { 'ok' }
