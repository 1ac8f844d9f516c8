--[[ sessions – new ones: their roots, first messages and places in the line, written for several at once. ]]

-- As it was sent, from this place on: its session, kind, pool, mail and event, then facts, each a name and its value, up to the word .
-- Returns it, and the place behind it.
local function readOrder(lists, cursor)
  local given = {}
  local order = { session = lists[cursor], kind = lists[cursor + 1], pool = lists[cursor + 2], mail = lists[cursor + 3], event = lists[cursor + 4],
    given = given }
  cursor = cursor + 5
  while lists[cursor] ~= '.' do
    checkLast(lists[cursor + 1])
    given[lists[cursor]] = lists[cursor + 1]
    cursor = cursor + 2
  end
  return order, cursor + 1
end

-- One that is there was created by this very call, sent before, or somebody wrote what is in its place.
local function checkRoot(recordKey)
  checkSort('hash', recordKey)
  checkSort('list', recordKey .. laneKeys.inbox)
end

local function writeRoot(order, wakeups)
  local given = order.given
  local record = { 'schema', '6', 'kind', order.kind, 'status', 'queued' }
  local function set(field, value, absent)
    if value ~= absent then
      record[#record + 1] = field
      record[#record + 1] = value
    end
  end
  set('limits', given.limits)
  set('name', given.name)
  set('pool', order.pool, atStart.pool)
  set('mode', given.mode)
  set('permissions', given.permissions)
  set('caps', given.caps)
  set('startWakeups', wakeups, '')
  redis.call('HSET', order.recordKey, unpack(record))
end

-- Sessions that are in the index; `recordKey` is that of their root. The last one's record keeps the wake-ups, which are returned.
local function writeSessions(tag, orders, now, seed, wakeupMs)
  local lines, events = {}, {}
  for index = 1, #orders do
    local order = orders[index]
    local pool = order.pool
    redis.call('RPUSH', order.recordKey .. laneKeys.inbox, order.mail)
    local line = lines[pool] or {}
    lines[pool] = line
    line[#line + 1] = digits(now)
    line[#line + 1] = rootOf(order.session)
    events[2 * index - 1], events[2 * index] = order.session, order.event
  end
  for pool, line in pairs(lines) do writeLine(tag, pool, line) end
  local wakeups = writeWakeupsOf(tag, lines, seed, now, wakeupMs)
  for index = 1, #orders do writeRoot(orders[index], index == #orders and wakeups or '') end
  redis.pcall('XADD', tag .. ':events', '*', unpack(events))
  return wakeups
end
