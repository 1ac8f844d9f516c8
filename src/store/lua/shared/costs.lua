--[[ costs – what model calls cost, as the node that made them knows it: of a worker and of its session in their records, "<millionths of a dollar>
<calls whose price nobody knows>"; and of all sessions by hour, kind and model. ]]

-- The model calls of a commit that say what they used.
local function readCosts(commit)
  local costs = listOf(commit, 'costs')
  for index = 1, #costs do
    checkTexts(costs[index], 'model')
    checkNumbers(costs[index], 'tokensIn', 'tokensOut')
    checkNumbersIfAny(costs[index], 'micros')
  end
  return costs
end

-- What stands in a record, with what is added to it.
local function costWith(hashKey, field, text, costs)
  local micros, unpriced = string.match(text or '0 0', '^(%d+) (%d+)$')
  if not micros then throwDamage('field ' .. field .. ' of ' .. hashKey .. ' should be two numbers') end
  for index = 1, #costs do
    if costs[index].micros then micros = micros + costs[index].micros else unpriced = unpriced + 1 end
  end
  return digits(tonumber(micros)) .. ' ' .. digits(tonumber(unpriced))
end

-- What the worker and its session have cost with this commit. Reads and checks all that is counted with.
local function planCosts(turn, costs)
  local record, rootKey = turn.record, turn.rootKey
  local ofSession = record.parent and redis.call('HGET', rootKey, 'sessionCost') or not record.parent and record.sessionCost -- guard: the cost of other agents stays
  turn.cost = costWith(turn.recordKey, 'cost', record.cost, costs)
  turn.sessionCost = costWith(rootKey, 'sessionCost', ofSession, costs)
end

-- Of the hour, by kind and model: "<model calls> <tokens in> <tokens out> <millionths of a dollar> <calls without a price>". The hours of a day share a key.
local function writeUsage(tag, kind, costs, now)
  local msOfHour, msOfDay, daysKept = 3600000, 86400000, 400
  local usageKey = tag .. ':usage:' .. digits(math.floor(now / msOfDay))
  for index = 1, #costs do
    local cost = costs[index]
    local field = digits(math.floor(now % msOfDay / msOfHour)) .. ' ' .. kind .. ' ' .. cost.model
    local before = redis.pcall('HGET', usageKey, field)
    -- A key that another program wrote over holds up no work: this is a statistic.
    if type(before) == 'table' then return end
    local calls, tokensIn, tokensOut, micros, unpriced = string.match(before or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    redis.call('HSET', usageKey, field, table.concat({ digits((tonumber(calls) or 0) + 1), digits((tonumber(tokensIn) or 0) + cost.tokensIn),
      digits((tonumber(tokensOut) or 0) + cost.tokensOut), digits((tonumber(micros) or 0) + (cost.micros or 0)),
      digits((tonumber(unpriced) or 0) + (cost.micros and 0 or 1)) }, ' '))
    if not before then redis.call('PEXPIRE', usageKey, digits(daysKept * msOfDay)) end -- guard: usage goes some day
  end
end
