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

-- The cost in a record, with these costs added.
local function costWith(hashKey, field, text, costs)
  local micros, unpriced = string.match(text or '0 0', '^(%d+) (%d+)$')
  if not micros then throwDamage('field ' .. field .. ' of ' .. hashKey .. ' should be two numbers') end
  for index = 1, #costs do
    if costs[index].micros then micros = micros + costs[index].micros else unpriced = unpriced + 1 end
  end
  return digits(tonumber(micros)) .. ' ' .. digits(tonumber(unpriced))
end

-- Plans what the worker and its session have cost after this commit. Reads and checks all that is counted with.
local function planCosts(turn, costs)
  local record, rootKey = turn.record, turn.rootKey
  local ofSession = record.parent and redis.call('HGET', rootKey, 'sessionCost') or not record.parent and record.sessionCost -- guard: the cost of other agents stays
  turn.cost = costWith(turn.recordKey, 'cost', record.cost, costs)
  turn.sessionCost = costWith(rootKey, 'sessionCost', ofSession, costs)
end

-- Adds up what the calls of one script used, by kind and model: calls, tokens in, tokens out, millionths of a dollar, calls without a price.
local function countUsage(usage, kind, costs)
  for index = 1, #costs do
    local cost = costs[index]
    local field = kind .. ' ' .. cost.model
    local sums = usage[field] or { 0, 0, 0, 0, 0 }
    usage[field] = sums
    sums[1], sums[2], sums[3] = sums[1] + 1, sums[2] + cost.tokensIn, sums[3] + cost.tokensOut
    if cost.micros then sums[4] = sums[4] + cost.micros else sums[5] = sums[5] + 1 end
  end
end

-- Adds the usage to what is stored for this hour. The hours of a day share a key. A key that another program wrote over holds up no work: this is a
-- statistic.
local function writeUsage(tag, usage, now)
  local msOfHour, msOfDay, daysKept = 3600000, 86400000, 400
  local usageKey, hour = tag .. ':usage:' .. digits(math.floor(now / msOfDay)), digits(math.floor(now % msOfDay / msOfHour))
  for name, sums in pairs(usage) do
    local field = hour .. ' ' .. name
    local before = redis.pcall('HGET', usageKey, field)
    if type(before) == 'table' then return end
    local known = { string.match(before or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$') }
    for index = 1, #sums do sums[index] = digits(sums[index] + (tonumber(known[index]) or 0)) end
    redis.call('HSET', usageKey, field, table.concat(sums, ' '))
    if not before then redis.call('PEXPIRE', usageKey, digits(daysKept * msOfDay)) end -- guard: stored usage expires
  end
end
