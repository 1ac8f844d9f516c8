--[[ held – workers of a session that claims kept while it was paused: they return to their run queues, some hundreds in each call. While some are left,
`<root>:resume` stands among the timers, due at once. ]]

local function returnOf(session)
  return rootOf(session) .. ':resume'
end

-- In the order of their places, but from now on: workers that a pause held back do not all come before everybody else. Returns how many returned, and
-- whether more are left.
local function writeReturned(tag, session, now, woke)
  local heldKey, most = heldKeyOf(tag, session), 400
  local held = redis.call('ZRANGE', heldKey, 0, most - 1) -- guard: a resume brings back no more workers than a script may
  for index = 1, #held do
    local field = redis.pcall('HMGET', workerKey(tag, held[index]), 'status', 'pool')
    -- A cancel may have ended the worker meanwhile. A worker whose record cannot be read goes into the pool of those that sweeps look at.
    local pool = field.err and 'unhosted' or (field[2] or atStart.pool)
    if field.err or field[1] == 'queued' then -- guard: a resume queues only workers that wait
      writeWoken(tag, { id = held[index], session = session, pool = pool }, woke) -- guard: a resume brings workers back into their run queues
    end
  end
  writeQueues(tag, woke)
  if #held > 0 then redis.call('ZREM', heldKey, unpack(held)) end
  local isMore = redis.call('EXISTS', heldKey) == 1
  if isMore then redis.call('ZADD', tag .. ':timers', digits(now), returnOf(session)) else redis.call('ZREM', tag .. ':timers', returnOf(session)) end -- guard: nodes bring back the workers that a resume has left
  return #held, isMore
end
