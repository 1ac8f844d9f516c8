--[[ wakeups – asks slots to wake up and claim: as many slots as the work in a run queue needs. (How a wake-up travels: src/wake/wakeup-listener.ts.)
An id is <letter><seed>-<pool>-<number>. The letter is `p` if a node heard the wake-up when it was published, `s` if a sweep puts it for its own
node, else `w`. ]]

-- Publishes a wake-up to one node, which may have a slot free: of three nodes at random, the first that listens for this pool. Returns whether one
-- received it. Its job follows in any case, so the node may be full or lose the message.
local function publishWakeup(tag, pool, id)
  -- Redis 6.2.0 answers nil where no node ever was.
  local nodes = redis.pcall('HRANDFIELD', tag .. ':nodes', 3) or {}
  for index = 1, #nodes do
    local heard = redis.pcall('PUBLISH', tag .. ':wake:' .. pool .. ':' .. nodes[index], id)
    if heard ~= 0 then return type(heard) == 'number' end -- guard: a published wake-up that no node received has no id with p
  end
  return false
end

-- The rule: while fewer wake-ups are out than min(workers queued, max(1, slots - busy)), one more. If turns are short, one awake slot is
-- expected to take `workersPerWake` workers in a row, so fewer are woken; but at most 3 in a row as long as fewer than `awakeLeast` slots are awake:
-- with a few slots only, they wait while Redis works, and Redis is idle while they work.
-- Returns the new ids, in short form, so that a record that keeps them stays small: one id, or "<count>*<id without its number>".
local function writeWakeups(tag, pool, seed, now, wakeupMs)
  local wakeupsMost, awakeLeast = 50, 16
  if pool == 'unhosted' then return '' end
  -- Each queue of one kind counts as one worker: a slot that is awake goes through the queue.
  local queued = redis.call('ZCARD', tag .. ':run:' .. pool) + redis.call('SCARD', tag .. ':kind-queues:' .. pool) -- guard: wake-up rule: queues of kinds
  if queued == 0 then return '' end
  local from = digits(now) -- guard: wake-up rule: stale wake-ups
  local out = redis.call('ZCOUNT', tag .. ':wakeups:' .. pool, from, '+inf')
  if out >= queued then return '' end
  local facts = redis.call('MGET', tag .. ':slots:' .. pool, tag .. ':per-wake:' .. pool)
  local slots, workersPerWake = tonumber(facts[1] or 0), tonumber(facts[2] or 1)
  local atLeast = math.min(math.ceil(queued / 3), awakeLeast) -- guard: wake-up rule: three in a row, while few slots are awake | wake-up rule: no more than so many of them
  local wanted = math.max(math.ceil(queued / workersPerWake), atLeast) -- guard: wake-up rule: workers queued
  if out >= wanted then return '' end
  if slots > 1 and wanted > 1 then
    local busy = redis.call('ZCARD', tag .. ':busy:' .. pool) -- guard: wake-up rule: slots that are busy
    wanted = math.min(wanted, math.max(1, slots - busy))
  else
    wanted = math.min(wanted, 1)
  end
  if out >= wanted then return '' end
  local missing = wanted - out -- guard: wake-up rule: wake-ups that are out
  local count, letter, name = math.min(missing, wakeupsMost), 'w', seed .. '-' .. pool
  -- While other wake-ups are out, slots are awake or soon will be: a published one would only find nothing.
  if out == 0 then -- guard: no wake-up is published while slots are awake
    local offered = count == 1 and 'p' or 'w' -- guard: a published wake-up that a node received has an id with p
    if publishWakeup(tag, pool, offered .. name .. '-1') then letter = offered end
  end
  local wakeups = {}
  for number = 1, count do
    wakeups[#wakeups + 1] = digits(now + wakeupMs)
    wakeups[#wakeups + 1] = letter .. name .. '-' .. number
  end
  redis.call('ZADD', tag .. ':wakeups:' .. pool, unpack(wakeups))
  return count > 1 and (digits(count) .. '*' .. letter .. name) or wakeups[2]
end

-- Applies the rule to each of these pools. Returns the new wake-ups, comma-separated. If somebody wrote something else over a key of the rule, this
-- pool gets no wake-up: the sweeps report the key, and wake slots without it.
local function writeWakeupsOf(tag, pools, seed, now, wakeupMs)
  local all = ''
  for pool in pairs(pools) do
    local fine, wakeups = pcall(writeWakeups, tag, pool, seed, now, wakeupMs)
    if fine and wakeups ~= '' then all = all == '' and wakeups or (all .. ',' .. wakeups) end
  end
  return all
end
