--[[ set-back – moves timers, retries and times at which gates open, after the clock of Redis was set back: they are too far ahead then. Nobody can tell how
far ahead one of them may be, so those that were set before move by as much as the clock: none waits longer than it should. There may be any number of them, so they move some
hundreds in each call, from the earliest on. Until all have, the field `moving` of meta says how far that is: "<by how many ms> <timers that have moved>
<timers from> <gates from>", where - means that none is left. What has moved stands before that place, and what has not stands from there on. ]]

-- Where those of a set begin that were set before the clock was set back: the ones up to the highest time that was seen were set since then.
local function movingFrom(by, highest)
  local from = '(' .. digits(highest) -- guard: timers set since the clock was set back stay
  return digits(by) .. ' 0 ' .. from .. ' ' .. from
end

-- Returns from where the next call goes on, and how many have moved.
local function moveSome(set, from, by)
  local movesMost, moved = 500, {}
  if from == '-' or not pcall(checkSort, 'zset', set) then return '-', 0 end
  local some = redis.call('ZRANGEBYSCORE', set, from, '+inf', 'WITHSCORES', 'LIMIT', 0, movesMost) -- guard: a sweep moves no more timers than a script may
  for index = 1, #some, 2 do moved[index], moved[index + 1] = digits(tonumber(some[index + 1]) - by), some[index] end
  if #moved > 0 then redis.call('ZADD', set, unpack(moved)) end
  return #some == 2 * movesMost and some[#some] or '-', #some / 2
end

-- Moves the next ones. Returns by how much and how many timers have moved in all, once that is done; else 0 and 0.
local function moveOn(tag, metaKey, moving)
  local by, before, timersFrom, gatesFrom = string.match(moving, '^(%d+) (%d+) (%S+) (%S+)$')
  local moved, _ = 0, nil
  if by then
    timersFrom, moved = moveSome(tag .. ':timers', timersFrom, tonumber(by))
    gatesFrom, _ = moveSome(tag .. ':gates', gatesFrom, tonumber(by)) -- guard: a gate opens in time after the clock was set back
  end
  if not by or timersFrom .. gatesFrom == '--' then
    redis.call('HDEL', metaKey, 'moving')
    return tonumber(by or 0), tonumber(before or 0) + moved
  end
  redis.call('HSET', metaKey, 'moving', by .. ' ' .. digits(before + moved) .. ' ' .. timersFrom .. ' ' .. gatesFrom)
  return 0, 0
end

-- Moves scores nearer that are further ahead than they can be: the clock was set back.
local function bringNear(set, now, aheadMs, most)
  local far = redis.call('ZRANGEBYSCORE', set, '(' .. digits(now + aheadMs * 2), '+inf', 'LIMIT', 0, most)
  for index = 1, #far do redis.call('ZADD', set, digits(now + aheadMs), far[index]) end
end

-- Endpoints that listen since a time ahead of the clock listen from now on: else they would get nothing until the clock is there again.
local function bringListenersNear(since, now)
  local ahead = redis.pcall('ZRANGEBYSCORE', since, '(' .. digits(now), '+inf')
  for index = 1, #ahead do redis.call('ZADD', since, digits(now), ahead[index]) end -- guard: an endpoint gets notices after the clock was set back
end
