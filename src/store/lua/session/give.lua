--[[ give – counts the spending that an access token allows its sessions, unless the token would exceed its allowance of an hour.
Why a script   two simultaneous requests must both count, even at two servers, and a repeated request must count once.
KEYS[1] given     hash               KEYS[2] request  string
ARGV[1] header    json:
  more       what this request allows: "<sessions> <model calls> <tokens> <tool calls>"
  most       the allowance of an hour, in the same order; "-" for no limit
  knownMs    for how long a repeated request is recognised
Returns {"ok"}: the request is counted, now or before
        | {"over", number, given, ms}: which of the four would be exceeded, how much of it was given, and in how many ms there is room
Builds  nothing.
Events  none: it is about no session. Unless it returns "ok" it writes only that what was given ahead of a clock that was set back was given now. ]]
local givenKey, requestKey = KEYS[1], KEYS[2]
local header = readHeader(ARGV[1])

checkTexts(header, 'more', 'most')
checkNumbers(header, 'knownMs')
if header.knownMs == 0 then error('the header should have a number knownMs above 0', 0) end
checkSort('hash', givenKey)
checkSort('string', requestKey)
-- Four whole numbers from this text, where `word` may stand in the place of one; nothing for another text.
local function fourIn(text, word)
  local four = { string.match(text, '^(%S+) (%S+) (%S+) (%S+)$') }
  for index = 1, 4 do
    local number = tonumber(four[index])
    if not isWhole(number) and (not word or four[index] ~= word) then return nil end
    four[index] = number or false
  end
  return four
end
local more, most = fourIn(header.more), fourIn(header.most, '-')
if not more or not most then error('the header should have four numbers in more and in most', 0) end
if redis.call('EXISTS', requestKey) == 1 then return { 'ok' } end -- guard: the allowance of a request is counted once

-- By the minute, counted from 1970. A minute counts until all of it is more than an hour ago.
local now, kept = nowMs(), 61
local minute = math.floor(now / 60000)
local minutes, byMinute, sums, old = {}, {}, { 0, 0, 0, 0 }, {}
local fields, isAhead = redis.call('HGETALL', givenKey), false
for index = 1, #fields, 2 do
  local at, four = tonumber(fields[index]), fourIn(fields[index + 1])
  if not isWhole(at) or not four then throwDamage('field ' .. fields[index] .. ' of ' .. givenKey .. ' should be a minute with four numbers') end
  if at + kept <= minute then -- guard: an allowance given more than an hour ago no longer counts
    old[#old + 1] = fields[index]
  else
    if at > minute then -- guard: an allowance given ahead of the clock counts as given now
      old[#old + 1] = fields[index]
      at, isAhead = minute, true
    end
    if not byMinute[at] then minutes[#minutes + 1], byMinute[at] = at, { 0, 0, 0, 0 } end
    for which = 1, 4 do
      byMinute[at][which] = byMinute[at][which] + four[which]
      sums[which] = sums[which] + four[which]
    end
  end
end
-- What is given in this minute; what is too old goes.
local function writeGiven(given)
  for which = 1, 4 do given[which] = digits(given[which]) end
  redis.call('HSET', givenKey, digits(minute), table.concat(given, ' '))
  if #old > 0 then redis.call('HDEL', givenKey, unpack(old)) end
  redis.call('PEXPIRE', givenKey, kept * 60000)
end
table.sort(minutes)
for which = 1, 4 do
  local over = most[which] and more[which] > 0 and sums[which] + more[which] - most[which] or 0
  if over > 0 then -- guard: a token gives no more than it may
    local ms = 0
    for index = 1, #minutes do
      if over <= 0 then break end
      over, ms = over - byMinute[minutes[index]][which], (minutes[index] + kept) * 60000 - now
    end
    if isAhead then writeGiven(byMinute[minute]) end
    return { 'over', which, digits(sums[which]), ms }
  end
end

local own = byMinute[minute] or { 0, 0, 0, 0 }
for which = 1, 4 do own[which] = own[which] + more[which] end
writeGiven(own)
redis.call('SET', requestKey, '', 'PX', digits(header.knownMs))
return { 'ok' }
