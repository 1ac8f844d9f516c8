--[[ checks – what is looked at before a script's first write. ]]

-- Another program wrote over something that is stored. The word in front of an error tells callers that it is of this kind (script/script.ts).
local damageMark = 'DAMAGED '
local function throwDamage(what)
  error(damageMark .. what, 0)
end

-- Nothing may fail after the first write. What could fail is checked before it: that keys are of the sort they should be, and that fields and
-- arguments to count with are whole numbers. Each check throws, and names what is wrong. A check is a command, so scripts that every turn runs do
-- without it where they can. The first write may fail by itself. What was read is known to be of its sort. What may be missed (events, wake-ups,
-- scores) or has a second place (the run queue) is written by pcall, and the sweeps, which have time, check those keys.
local sizes = { hash = 'HLEN', list = 'LLEN', set = 'SCARD', zset = 'ZCARD', stream = 'XLEN', string = 'STRLEN' }
local function checkSort(sort, ...)
  local keys = { ... }
  for index = 1, #keys do
    local size = redis.pcall(sizes[sort], keys[index])
    if type(size) == 'table' then
      -- Any other error says by itself what it is.
      if not string.find(size.err, 'WRONGTYPE', 1, true) then redis.call(sizes[sort], keys[index]) end
      throwDamage('key ' .. keys[index] .. ' is a ' .. redis.call('TYPE', keys[index]).ok .. ' and should be a ' .. sort)
    end
  end
end

-- The answer that was kept under an idempotency key, in parts by this pattern; nothing for a new key.
local function readAnswer(idemKey, pattern)
  local known = redis.pcall('GET', idemKey)
  if not known then return nil end
  if type(known) == 'table' then
    checkSort('string', idemKey)
    redis.call('GET', idemKey)
  end
  local first, second, third, fourth, fifth = string.match(known, pattern)
  if not first then throwDamage('key ' .. idemKey .. ' should be an answer that was given') end -- guard: a damaged answer of a key is not used
  return first, second, third, fourth, fifth
end

-- The length of a list that is about to be written to, which checks its sort as well.
local function lengthOf(listKey)
  local length = redis.pcall('LLEN', listKey)
  if type(length) == 'table' then checkSort('list', listKey) end
  return length
end

local function isWhole(number)
  return number and number >= 0 and number <= 9007199254740992 and number == math.floor(number)
end

-- Checks that these arguments, six at most, are whole numbers. The comparisons are written out, since every script does this: a loop over them costs
-- four times as much.
local wholeMost = 9007199254740992
local function checkArguments(...)
  local count, a, b, c, d, e, f = select('#', ...), ...
  local fine = a and a >= 0 and a <= wholeMost and a % 1 == 0
  if count > 1 then fine = fine and b and b >= 0 and b <= wholeMost and b % 1 == 0 end
  if count > 2 then fine = fine and c and c >= 0 and c <= wholeMost and c % 1 == 0 end
  if count > 3 then fine = fine and d and d >= 0 and d <= wholeMost and d % 1 == 0 end
  if count > 4 then fine = fine and e and e >= 0 and e <= wholeMost and e % 1 == 0 end
  if count > 5 then fine = fine and f and f >= 0 and f <= wholeMost and f % 1 == 0 end
  if not fine or count > 6 then error('each number among the arguments should be a whole number', 0) end
end

-- If arguments are missing, the last one is missing, so this checks the last one.
local function checkLast(argument)
  if not argument then error('the arguments should be as many as the header says', 0) end
end

-- The first argument of a script: one JSON object with fields of ours, by name. No other text is decoded: JSON of users stays as it is.
local function readHeader(text)
  local fine, header = pcall(cjson.decode, text or '')
  if not fine or type(header) ~= 'table' then error('the first argument should be a header', 0) end
  return header
end

-- Fields of a header, or of an object within it. Each of these is a text.
local function checkTexts(fields, ...)
  for index = 1, select('#', ...) do
    local name = select(index, ...)
    if type(fields[name]) ~= 'string' then error('the header should have a text ' .. name, 0) end
  end
end

-- Each of these is a text or absent.
local function checkTextsIfAny(fields, ...)
  for index = 1, select('#', ...) do
    local name = select(index, ...)
    if fields[name] ~= nil and type(fields[name]) ~= 'string' then error('what the header has as ' .. name .. ' should be a text', 0) end
  end
end

-- Each of these is a whole number.
local function checkNumbers(fields, ...)
  for index = 1, select('#', ...) do
    local name = select(index, ...)
    local number = fields[name]
    if type(number) ~= 'number' or not isWhole(number) then error('the header should have a whole number ' .. name, 0) end
  end
end

-- Each of these is a whole number, where it is there.
local function checkNumbersIfAny(fields, ...)
  for index = 1, select('#', ...) do
    local name = select(index, ...)
    if fields[name] ~= nil then checkNumbers(fields, name) end
  end
end

-- Checks a part of a list: a score, its member, the next score, its member, and so on. Each score is a whole number, as a script or a caller wrote it.
local function checkScores(scored, first, last)
  if (last - first) % 2 == 0 then error('there should be a member for each score', 0) end
  for index = first, last, 2 do
    if not string.find(scored[index], '^%d+$') or not isWhole(tonumber(scored[index])) then error('each score should be a whole number', 0) end
  end
end

-- The text that a field of a commit, or of an object within it, names by its number.
local function textAt(commit, fields, name, texts)
  local number = fields[name]
  local text = type(number) == 'number' and texts[commit.texts + number]
  if not text then error('the header should have the number of a text as ' .. name, 0) end
  return text
end

-- The list of this name; an empty one, to which nothing is added, where there is none. Each of its items is an object.
local emptyList = {}
local function listOf(fields, name)
  local list = fields[name]
  if list == nil then return emptyList end
  if type(list) ~= 'table' then error('the header should have a list ' .. name, 0) end
  for key, item in pairs(list) do
    if type(key) ~= 'number' or type(item) ~= 'table' then error('the header should have a list ' .. name, 0) end
  end
  return list
end

-- A list of texts, of this name.
local function textsOf(fields, name)
  local list = fields[name]
  if type(list) ~= 'table' then error('the header should have a list ' .. name, 0) end
  for key, item in pairs(list) do
    if type(key) ~= 'number' or type(item) ~= 'string' then error('the header should have a list of texts ' .. name, 0) end
  end
  return list
end

-- A record's limits: "<workers> <children> <depth> <mailbox>"; core/policy.ts has the same form.
local limitsForm = '^(%d+) (%d+) (%d+) (%d+)$'

-- Fields of a record that scripts count with; absent ones are at their start. All are looked at together: one by one they cost twice as much.
local function checkRecord(recordKey, record)
  local depth = record.depth or atStart.depth
  -- A record to which no turn has written yet has none of these fields but its depth.
  local isCounted = record.run or record.signals or record.results or record.inbox or record.isolated or record.crashes
  local all = isCounted and (record.run or atStart.run) .. ' ' .. (record.signals or atStart.signals) .. ' ' ..
    (record.results or atStart.results) .. ' ' .. (record.inbox or atStart.inbox) .. ' ' .. (record.isolated or atStart.isolated) .. ' ' .. (record.crashes or atStart.crashes)
  if not string.find(depth, '^%d+$') or (isCounted and not string.find(all, '^%d+ %d+ %d+ %d+ %d+ %d+$')) then
    local counters = { 'run', 'depth', 'signals', 'results', 'inbox', 'isolated', 'crashes' }
    for index = 1, #counters do
      local text = record[counters[index]]
      if text and not string.find(text, '^%d+$') then throwDamage('field ' .. counters[index] .. ' of ' .. recordKey .. ' should be a whole number') end
    end
  end
  for level = 1, tonumber(depth) do
    if not record['path' .. level] then throwDamage('record ' .. recordKey .. ' should have a field path' .. level) end
  end
  if not record.kind or not record.status then throwDamage('record ' .. recordKey .. ' should have a kind and a status') end
  if record.limits and not string.find(record.limits, limitsForm) then throwDamage('field limits of ' .. recordKey .. ' should be one number for each limit') end
end

-- A field that is counted up; absent: 0. It must have the form that Redis writes: Redis does not increment a number that begins with a zero or is too large.
local function checkCount(hashKey, name, text)
  local count = tonumber(text or 0)
  if not isWhole(count) or string.format('%.0f', count) ~= (text or '0') then -- guard: a pruning is whole even if Redis cannot count up
    throwDamage('field ' .. name .. ' of ' .. hashKey .. ' should be a whole number')
  end
end

-- Checks that the mails which a run takes, named by their positions, are in the lane. `gone`: how many mails have left the lane.
local function checkPositions(laneKey, gone, taken)
  local length = lengthOf(laneKey)
  for index = 1, #taken do
    local at = taken[index] - gone
    if at < 0 or at >= length then error('position ' .. taken[index] .. ' should be one of ' .. laneKey, 0) end
  end
end

-- Checks that the results which a commit consumes, named by their positions, are in the lane.
local function checkResults(recordKey, record, consumed)
  checkPositions(recordKey .. ':mail:results', tonumber(record.results or atStart.results), consumed)
end

-- What this error says of something stored that is not as it should be. nil: another error, which may pass by itself.
local function damageOf(thrown)
  local text = type(thrown) == 'table' and thrown.err or tostring(thrown)
  local _, markEnd = string.find(text, damageMark, 1, true)
  if markEnd then return string.sub(text, markEnd + 1) end
  return string.find(text, 'WRONGTYPE', 1, true) and text or nil
end
