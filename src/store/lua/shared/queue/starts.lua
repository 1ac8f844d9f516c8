--[[ starts – children that wait to start, because the kind of their parent says how many of them run at once. The parent's record says
"<most> <running> <waiting>" in its field `atOnce`, which no other worker has; T:w:<parent>:waiting lists those that wait, in their order. Such
a child is there already, with its mail: parked, and with the wait `start`. ]]

-- The three numbers of `atOnce`; nothing if the field is missing, or another program wrote over it: that must not stop a child that brings its result.
local function readAtOnce(text)
  local most, running, waiting = string.match(text or '', '^(%d+) (%d+) (%d+)$')
  if most then return tonumber(most), tonumber(running), tonumber(waiting) end
end

local function atOnceText(most, running, waiting)
  return digits(most) .. ' ' .. digits(running) .. ' ' .. digits(waiting)
end

local function waitingKey(recordKey)
  return recordKey .. ':waiting'
end

-- A child's result reaches its parent: which of its siblings start now, in the plan of that result. `record`: of the child.
local function planStarts(tag, plan, record)
  local most, running, waiting = readAtOnce(plan.atOnce)
  if not most then return end
  local listKey, starts, taken = waitingKey(plan.record), {}, 0
  checkSort('list', listKey)
  if record.wait ~= 'start' then running = math.max(0, running - 1) end -- guard: a child that ended before it started frees no place
  while running < most and taken < waiting do
    local id = redis.call('LINDEX', listKey, taken)
    if not id then break end
    taken = taken + 1
    -- A child that was cancelled while it waited starts no more.
    local field = redis.pcall('HMGET', workerKey(tag, id), 'status', 'wait', 'pool')
    if not field.err and field[1] == 'parked' and field[2] == 'start' then -- guard: a child that was cancelled while it waited never starts
      starts[#starts + 1] = { id = id, session = plan.session, pool = field[3] or atStart.pool }
      running = running + 1
    end
  end
  plan.starts, plan.taken, plan.atOnce = starts, taken, atOnceText(most, running, waiting - taken)
end

-- Which of the children that a step spawns start with it (`waits` of the others), in `own.atOnce`. `most`: how many may run at once; nil
-- where the kind does not say.
local function planAtOnce(tag, own, born, most, limits)
  local before, running, waiting = readAtOnce(own.record.atOnce)
  if not before and not most then return end
  running, waiting = running or 0, waiting or 0
  most = math.min(most or limits.children, limits.children) -- guard: no more children run at once than their session allows
  own.waiting = {}
  for index = 1, #born do
    local spawn = born[index]
    if not spawn.detached then -- guard: a detached child does not wait to start
      if waiting == 0 and running < most then -- guard: children beyond those that run at once wait to start
        running = running + 1
      else
        spawn.waits, waiting = true, waiting + 1
        own.waiting[#own.waiting + 1] = spawn.id
      end
    end
  end
  if #own.waiting > 0 then checkSort('list', waitingKey(workerKey(tag, own.id))) end
  own.atOnce = atOnceText(most, running, waiting)
end

-- Writes the children of this step that wait to start.
local function writeWaiting(recordKey, waiting)
  for from = 1, #waiting, 1000 do
    redis.call('RPUSH', waitingKey(recordKey), unpack(waiting, from, math.min(from + 999, #waiting)))
  end
end
