--[[ spawns – creates sessions that were asked for at the same moment, each as `spawn` does it, without keys of a caller's own.
Why a script   as `spawn`; and what they have in common is done once: their time, the index, the line, the wake-ups, one entry of events.
KEYS[1] sessions  zset               KEYS[2] events   stream declared
ARGV[1] wakeupMs        ARGV[2] seed         names of new wakeups
ARGV[3] orders        for each: session, kind, pool, mail, event json, then its facts as `spawn` has them, then a word . behind them
Returns {"ok", wakeups}: all are there. Sent again, the same again: one whose record is there is not written.
Builds  T:w:<id> and its mail:user of the roots; T:run, T:wakeups, T:busy, T:slots, T:per-wake and T:wake of the pools; T:nodes.
Events  session.created, of each. Writes nothing unless it returns "ok". ]]
local sessionsKey = KEYS[1]
local wakeupMs, seed = tonumber(ARGV[1]), ARGV[2]
local lists, cursor = ARGV, 3

local tag = tagOf(sessionsKey)
checkArguments(wakeupMs)
local orders, keys, isThere = {}, {}, {}
while cursor <= #lists do
  local order
  order, cursor = readOrder(lists, cursor)
  -- One that is asked for twice is created once.
  if not isThere[order.session] then
    isThere[order.session] = true
    orders[#orders + 1] = order
    order.recordKey = rootKeyOf(tag, order.session)
    keys[#keys + 1] = order.recordKey
    keys[#keys + 1] = order.recordKey .. laneKeys.inbox
  end
end
local born, rung = orders, {}
if redis.call('EXISTS', unpack(keys)) > 0 then
  born = {}
  for index = 1, #orders do checkRoot(orders[index].recordKey) end
  for index = 1, #orders do
    local order = orders[index]
    if redis.call('EXISTS', order.recordKey) == 0 then
      born[#born + 1] = order
    else
      rung[#rung + 1] = redis.call('HGET', order.recordKey, 'startWakeups') or nil
    end
  end
end
if #born == 0 then return { 'ok', table.concat(rung, ',') } end
local now, indexed = nowMs(), {}
for index = 1, #born do
  indexed[2 * index - 1], indexed[2 * index] = digits(now), born[index].session
end
redis.call('ZADD', sessionsKey, unpack(indexed))
local wakeups = writeSessions(tag, born, now, seed, wakeupMs)
if wakeups ~= '' then rung[#rung + 1] = wakeups end
return { 'ok', table.concat(rung, ',') }
