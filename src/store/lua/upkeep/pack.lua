--[[ pack – replaces entries of a cold history by one pack. Each entry keeps its position.
Why a script   a reader must find either the entries or the pack.
KEYS[1] record    hash               KEYS[2] log      list
ARGV[1] header    json:
  from             position of the first entry
  packed           how many entries the pack that begins there holds already; 0: there is no pack
  entries          how many entries the new pack holds
ARGV[2] pack      bytes
ARGV[3] newest    the text that replaces the last entry
Returns {"packed"} | {"moved"}: the history is not as the caller read it, or somebody else has packed it | {"busy"}: a turn of the worker is open
Events  none. Writes nothing unless it returns "packed". ]]
local recordKey, logKey = KEYS[1], KEYS[2]
local header, pack, newest = readHeader(ARGV[1]), ARGV[2], ARGV[3]

checkNumbers(header, 'from', 'packed', 'entries')
checkLast(newest)
local from, to = header.from, header.from + header.entries - 1
local status = readFields(recordKey, 'status')[1]
if not status then return { 'moved' } end -- guard: nothing is packed of a worker that is gone
if status == 'running' or status == 'queued' then return { 'busy' } end -- guard: nothing is packed of a worker that may run
if lengthOf(logKey) <= to or header.entries < 2 then return { 'moved' } end
-- Entries never change, and packed ones come before the others: if the first and the last are unchanged, so are those in between.
local first = redis.call('LINDEX', logKey, digits(from))
if first == pack then return { 'packed' } end -- guard: a pack that is sent again is the same pack
local isAsRead = header.packed == 0 and string.sub(first, 1, 1) == '{' or string.match(first, '^z(%d+) ') == digits(header.packed)
if not isAsRead then return { 'moved' } end -- guard: a pack takes the place of what its maker read
if string.sub(redis.call('LINDEX', logKey, digits(to)), 1, 1) ~= '{' then return { 'moved' } end -- guard: an entry is packed once

-- A Redis that is full refuses a first write that may take room, and this makes room: so the first one takes none.
redis.call('LTRIM', logKey, '0', '-1')
redis.call('LSET', logKey, digits(from), pack)
for position = from + 1, to - 1 do redis.call('LSET', logKey, digits(position), digits(position - from)) end
redis.call('LSET', logKey, digits(to), newest)
return { 'packed' }
