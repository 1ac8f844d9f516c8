--[[ letters – dead letters, the index of those that nobody has dealt with, and the dispositions of the others: `<letter> <position in the mailbox>
<wake-ups>`, or `<letter> dismissed`. ]]

local function openLettersKeyOf(tag)
  return tag .. ':open-letters'
end

-- What was done with a letter; nil where nothing was. Looks at the index as well, before anything is written.
local function dispositionOf(redrivenKey, letter, at)
  checkSort('zset', openLettersKeyOf(tagOf(redrivenKey))) -- guard: a letter is dealt with as a whole
  local dispositions = redis.call('ZRANGEBYSCORE', redrivenKey, at, at)
  for index = 1, #dispositions do
    local id, disposition = string.match(dispositions[index], '^(%S+) (.*)$')
    if id == letter then return disposition end -- guard: a letter is redriven once
  end
end

-- Reads a dead letter; nothing if there is none. A letter that another program wrote, and that names no worker, has an empty name.
local function readLetter(deadKey, letter)
  local found = redis.call('XRANGE', deadKey, letter, letter)[1]
  local fields = found and { worker = '' } or {} -- guard: a missing letter is not dismissed
  for index = 1, found and #found[2] or 0, 2 do fields[found[2][index]] = found[2][index + 1] end
  return fields
end

-- Takes out of a set by time what belongs to letters that were trimmed. It goes with every letter of its millisecond.
local function forgetTrimmed(deadKey, key)
  local oldest = redis.call('XRANGE', deadKey, '-', '+', 'COUNT', 1)[1]
  redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. string.match(oldest[1], '^%d+'))
end

-- Writes a dead letter with these fields, and that it is open. Returns its id.
local function writeLetter(tag, fields, kept)
  local deadKey, openKey = tag .. ':dead', openLettersKeyOf(tag)
  local id = redis.call('XADD', deadKey, 'MAXLEN', '~', digits(kept), '*', unpack(fields))
  redis.call('ZADD', openKey, string.match(id, '^%d+'), id) -- guard: a dead letter is listed as open
  forgetTrimmed(deadKey, openKey) -- guard: a letter that was trimmed is not listed as open
  return id
end

-- Writes a disposition, with which the letter is no longer open.
local function writeDisposition(redrivenKey, deadKey, letter, at, disposition)
  redis.call('ZADD', redrivenKey, at, letter .. ' ' .. disposition)
  redis.call('ZREM', openLettersKeyOf(tagOf(deadKey)), letter) -- guard: a letter that was dealt with is not listed as open
  forgetTrimmed(deadKey, redrivenKey)
end
