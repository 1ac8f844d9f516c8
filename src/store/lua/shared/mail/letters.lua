--[[ letters – dead letters, and the dispositions of those that were dealt with: `<letter> <position in the mailbox> <wake-ups>`, or
`<letter> dismissed`. ]]

-- What was done with a letter; nil where nothing was.
local function dispositionOf(redrivenKey, letter, at)
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

-- Writes a disposition. It goes when its letter was trimmed, and every other letter of that millisecond.
local function writeDisposition(redrivenKey, deadKey, letter, at, disposition)
  redis.call('ZADD', redrivenKey, at, letter .. ' ' .. disposition)
  local oldest = redis.call('XRANGE', deadKey, '-', '+', 'COUNT', 1)[1]
  redis.call('ZREMRANGEBYSCORE', redrivenKey, '-inf', '(' .. string.match(oldest[1], '^%d+'))
end
