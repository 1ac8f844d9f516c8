--[[ sweep – heals leases of dead nodes, keeps the register of nodes, moves workers to pools with nodes, and adds wake-ups for its own node.
Why a script   taking a lease away and queueing its worker must happen together; so must counting wake-ups and adding one.
KEYS[1] meta      hash               KEYS[2] leases   zset               KEYS[3] nodes    hash
KEYS[4] events    stream             KEYS[5] pools    set
ARGV[1] header    json:
  node             id
  slots            of this node
  leaseMs          how long leases last
  wakeupMs         how long a wake-up counts as sent
  batch            how many leases, and how many workers of a run queue, one call looks at
  forgottenMs      after how long an unseen node is forgotten
  everyMs          healing is skipped when another sweep healed less than half of this ago
  seed             names of new wake-ups begin with it
  leaving          true: the node leaves
  eventsKept       length of the event stream
  eventsBytes      how many bytes of it are kept at most
  pools            of this node, each:
    name           of the pool
    kinds          the node's kinds in it, each between two spaces
    free           free slots
    workersPerWake   how many workers one slot is expected to take in a row; 0: unknown to this node
ARGV[2] facts     of this node, json, shown by doctor
Returns {healed, wakeups, damaged, left, gone, paused, setBack, moved, kinds, healer, more}
        healed: how many leases this call took away
        wakeups: "<pool> <wakeup>" each, only for this node
        damaged: workers whose records cannot be read, and which wait until somebody mends them
        left: how many workers still wait for a node of their kind, if this call took in others
        gone: 1 if this node is not in the register, where announce put it
        paused: "1" while all sessions are paused; then no wake-ups are added
        setBack: by how many ms the clock was set back, once all timers have moved by as much; else 0
        moved: how many these were
        kinds: the version of the register of kinds
        healer: 1 if no other sweep healed a moment ago: this one did, and its node does the other work that only one node is to do
        more: 1 if the next sweep is to follow at once
Builds  T:seen; T:node-slots; T:timers; T:gates; T:endpoints:since; T:w:<id> of expired leases and of their roots; T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake of each pool; T:claims of forgotten
        nodes; T:run:unhosted; T:kinds.
Events  worker.interrupted of each lease that was taken away. ]]
local metaKey, leasesKey, nodesKey, eventsKey, poolsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local header, facts = readHeader(ARGV[1]), ARGV[2]

local tag = tagOf(metaKey)
local now = nowMs()
checkTexts(header, 'node', 'seed')
checkNumbers(header, 'slots', 'leaseMs', 'wakeupMs', 'batch', 'forgottenMs', 'everyMs', 'eventsKept', 'eventsBytes')
checkLast(facts)
local node, leaseMs, wakeupMs, batch, everyMs = header.node, header.leaseMs, header.wakeupMs, header.batch, header.everyMs
local pools, isLeaving = listOf(header, 'pools'), header.leaving

local seenKey = tag .. ':seen'
local names, hosts, ownPools = {}, {}, {}
checkSort('hash', metaKey, nodesKey, seenKey, tag .. ':node-slots')
checkSort('zset', leasesKey, tag .. ':run:unhosted', tag .. ':clocks')
checkSort('stream', eventsKey)
checkSort('set', poolsKey)
for index = 1, #pools do
  checkTexts(pools[index], 'name', 'kinds')
  checkNumbers(pools[index], 'free', 'workersPerWake')
  checkSort('zset', tag .. ':run:' .. pools[index].name, tag .. ':wakeups:' .. pools[index].name, tag .. ':busy:' .. pools[index].name)
  checkSort('set', tag .. ':kind-queues:' .. pools[index].name)
  names[index] = pools[index].name
  for kind in string.gmatch(pools[index].kinds, '%S+') do hosts[#hosts + 1], ownPools[kind] = kind, pools[index].name end
end
local wasGone = false
if #names > 0 then redis.call('SADD', poolsKey, unpack(names)) end -- guard: pools are remembered
if isLeaving then
  removeNode(tag, node)
else
  wasGone = not writeNode(tag, node, now, header.slots, names, hosts, facts) -- guard: a sweep notices that its node was not registered
  redis.call('HSET', seenKey, node, digits(now)) -- guard: a sweep says that its node lives
end

-- The record of a lease that ended; nil when it cannot be read, or healed.
local function readExpired(id, record)
  local function read()
    local fields = readRecord(record)
    if fields.status == 'running' then
      checkRecord(record, fields)
      checkSort('hash', rootKeyOf(tag, sessionOf(id, fields.path1)))
      checkSort('zset', tag .. ':run:' .. (fields.pool or atStart.pool))
      if not string.find(fields.token or atStart.token, '^%d+:') then throwDamage('field token of ' .. record .. ' should begin with a number') end
    end
    return fields
  end
  local fine, fields = pcall(read)
  if not fine and not damageOf(fields) then error(fields, 0) end
  return fine and fields or nil
end

-- The kind in a record. If the key holds no record: nil, and that it is damaged.
local function kindOf(record)
  local kind = redis.pcall('HGET', record, 'kind')
  if type(kind) ~= 'table' then return kind, false end
  return nil, true
end

-- Where to look at one batch of a run queue that no claim shortens: elsewhere each time, so that what stays does not hide the others.
local function windowOf(queueKey)
  return now % (math.max(0, redis.call('ZCARD', queueKey) - batch) + 1)
end

-- Pools, kinds with queues of their own, and workers in them that may have to go elsewhere: there may be any number, so one sweep looks at some.
local looksLeft = 2 * batch
local function looks(count)
  local most = math.min(count, looksLeft) -- guard: a sweep looks at no more workers that may have to go than a script may
  looksLeft = looksLeft - most
  return most
end

-- It begins elsewhere each time, so that none stays behind the others.
local function fromElsewhere(list, most)
  local from, some = tonumber(redis.call('TIME')[2]), {}
  for index = 1, math.min(#list, most) do some[index] = list[(from + index) % #list + 1] end
  return some
end

-- The workers of a queue from this position on. A key that another program overwrote has none.
local function someIn(queueKey, first)
  local most = looks(batch)
  local ids = most > 0 and redis.pcall('ZRANGE', queueKey, first, first + most - 1) or {}
  looksLeft = looksLeft + most - #ids
  return ids.err and {} or ids
end

-- The pool to which a kind has moved, nil if to none: where it was registered since, or where this node hosts it if this pool has no node any more.
local isEmpty = {}
local function movedTo(pool, kind)
  local line = kind and redis.pcall('HGET', tag .. ':kinds', kind)
  local home = type(line) == 'string' and string.match(line, '^%S+')
  if home == pool and isEmpty[pool] then home = ownPools[kind] end -- guard: a sweep takes what its node hosts from a pool without a node
  return home and home ~= pool and pcall(checkSort, 'zset', tag .. ':run:' .. home) and home or nil
end

-- Moves a worker whose kind was registered in another pool since. Returns whether it moved.
local function writeMoved(pool, id, kind)
  local home = movedTo(pool, kind)
  if not home then return false end
  leaveQueue(tag, pool, kind, id)
  redis.call('HSET', workerKey(tag, id), 'pool', home)
  local place = nextPlace(tag, home) -- guard: a worker that moves to another pool gets a place there
  redis.call('ZADD', tag .. ':run:' .. home, digits(place), id)
  return true
end

local healed, woke, damaged, nodes = 0, newWakes(), {}, nil
local meta = redis.call('HMGET', metaKey, 'sweptAt', 'paused', 'kinds', 'moving')
local last, paused, kindsVersion, moving = tonumber(meta[1] or '0') or 0, meta[2], meta[3] or '', meta[4]
local setBack, moved, hasMore = 0, 0, false

-- Moves timers nearer when the clock was set back. Clocks are corrected by smaller steps all the time.
local function followClock()
  local setBackLeast = 5000
  if not moving and last - now > setBackLeast then -- guard: timers move when the clock was set back
    moving = movingFrom(last - now, last)
    bringListenersNear(tag .. ':endpoints:since', now)
    redis.call('HSET', metaKey, 'setBack', digits(now) .. ' ' .. digits(last - now))
  end
  if not moving then return end
  setBack, moved = moveOn(tag, metaKey, moving)
  hasMore = hasMore or setBack == 0
end

-- Takes away the leases that ended, and queues the workers that ran under them.
local function heal(expired)
  local lost = {}
  for index = 1, #expired do
    local id = expired[index]
    local record = workerKey(tag, id)
    local fields = readExpired(id, record)
    if not fields then
      -- This looks at the worker again when a lease would have ended: its turn is healed once its record is mended.
      redis.call('ZADD', leasesKey, digits(now + leaseMs), id)
      damaged[#damaged + 1] = id
    else
      redis.call('ZREM', leasesKey, id)
    end
    if fields and fields.status == 'running' then
      local token = string.match(fields.token, '^%d+:') -- guard: token cleared with the lease
      redis.call('HSET', record, 'token', token, 'crashes', digits(tonumber(fields.crashes or atStart.crashes) + 1))
      writeWokenRecord(tag, { id = id, session = sessionOf(id, fields.path1), pool = fields.pool or atStart.pool }, now, woke)
      writeQueues(tag, woke)
      healed = healed + 1
      local epoch, committed = epochOf(fields)
      lost[#lost + 1] = fields.path1 and (sessionOf(id, fields.path1) .. ' ' .. id) or sessionOf(id)
      lost[#lost + 1] = startsNote('worker.interrupted', epoch - committed, fields.lastWords)
    end
  end
  if #lost > 0 then writeEvents(eventsKey, lost) end
end

-- Forgets nodes that were not seen for long. Returns how many slots the others have in each pool. Pools of this node are counted even when it was the last
-- to host them.
local function countSlots()
  local slots = {}
  for index = 1, #names do slots[names[index]] = 0 end
  nodes = readNodes(tag)
  for index = 1, #nodes do
    local other = nodes[index]
    if other.seen > now + leaseMs then
      other.seen = now
      redis.call('HSET', seenKey, other.id, digits(now))
    elseif now - other.seen > header.forgottenMs then
      -- One whose line nobody can read, too: a node that lives writes its own anew.
      removeNode(tag, other.id)
    end
    -- A node unseen for a lease has no slots to count on, long before it is forgotten.
    for name in string.gmatch(other.pools, '[^,]+') do
      slots[name] = (slots[name] or 0) + ((now - other.seen <= leaseMs) and other.slots or 0)
    end
  end
  return slots
end

-- Looks at a pool that has so many slots. Nobody sweeps pools without a node; and clients go on putting wake-ups there.
local function lookAtPool(name, slots)
  if slots == 0 and pcall(checkSort, 'zset', tag .. ':run:' .. name) then -- guard: a sweep looks at pools without a node
    isEmpty[name] = not isLeaving
    local left = someIn(tag .. ':run:' .. name, windowOf(tag .. ':run:' .. name))
    for index = 1, #left do writeMoved(name, left[index], kindOf(workerKey(tag, left[index]))) end
    local kinds = fromElsewhere(queuedKinds(tag, name), looksLeft)
    for index = 1, #kinds do
      local some = looks(1) > 0 and movedTo(name, kinds[index]) and someIn(kindQueueKey(tag, name, kinds[index]), 0) or {}
      for number = 1, #some do writeMoved(name, some[number], kinds[index]) end -- guard: a sweep looks at queues of kinds in pools without a node
    end
  end
  redis.call('SET', tag .. ':slots:' .. name, slots)
  -- If keys of other pools are damaged, their own sweeps report that.
  if pcall(checkSort, 'zset', tag .. ':wakeups:' .. name, tag .. ':busy:' .. name) then
    redis.call('ZREMRANGEBYSCORE', tag .. ':wakeups:' .. name, '-inf', digits(now))
    redis.call('ZREMRANGEBYSCORE', tag .. ':busy:' .. name, '-inf', digits(now))
    bringNear(tag .. ':wakeups:' .. name, now, wakeupMs, batch) -- guard: scores that a clock left far ahead come near: wakeups
    bringNear(tag .. ':busy:' .. name, now, leaseMs, batch) -- guard: scores that a clock left far ahead come near: busy
  end
end

local function lookAtPools(slots)
  local known, isDone = redis.call('SRANDMEMBER', poolsKey, 100), {} -- guard: a sweep looks at no more pools than a script may
  known[#known + 1] = 'default'
  for index = 1, #names do known[#known + 1] = names[index] end
  for index = 1, #known do
    local name = known[index]
    if not isDone[name] then lookAtPool(name, slots[name] or 0) end
    isDone[name] = true
  end
end

local isHealer = now - last >= everyMs / 2 or last > now or isLeaving or moving -- guard: one of simultaneous sweeps heals
if isHealer then
  local expired = redis.call('ZRANGEBYSCORE', leasesKey, '-inf', digits(now), 'LIMIT', 0, batch)
  -- After a full batch there may be more: the next sweep is not skipped. While timers move, the time of the sweep that noticed it stays, so that
  -- another step back is seen.
  hasMore = #expired == batch
  if not moving then redis.call('HSET', metaKey, 'sweptAt', digits(hasMore and now - everyMs or now)) end -- guard: a step back of the clock while timers move is seen afterwards
  followClock()
  heal(expired)
  if trimEvents(eventsKey, header.eventsKept, header.eventsBytes, last, now) then redis.call('HSET', metaKey, 'trimmed', '1') end
  bringNear(leasesKey, now, leaseMs, batch) -- guard: scores that a clock left far ahead come near: leases
  lookAtPools(countSlots())
end
if isLeaving then return { healed, {}, {}, 0, 0, '0', setBack, moved, kindsVersion, isHealer and 1 or 0, 0 } end

-- Takes in workers of kinds that nobody hosted when they were created, if this node hosts them. Returns how many are left, if it took in some.
local function takeUnhosted()
  local first, tookSome = windowOf(tag .. ':run:unhosted'), false
  local unhosted = redis.call('ZRANGE', tag .. ':run:unhosted', first, first + batch - 1)
  for index = 1, #unhosted do
    local record = workerKey(tag, unhosted[index])
    local kind, isDamaged = kindOf(record)
    if isDamaged then damaged[#damaged + 1] = unhosted[index] end
    local pool = kind and ownPools[kind]
    if pool then
      redis.call('ZREM', tag .. ':run:unhosted', unhosted[index])
      redis.call('HSET', record, 'pool', pool)
      redis.call('ZADD', tag .. ':run:' .. pool, digits(nextPlace(tag, pool)), unhosted[index])
      tookSome = true
    end
  end
  return tookSome and redis.call('ZCARD', tag .. ':run:unhosted') or 0
end
local left = takeUnhosted()
if paused then return { healed, {}, damaged, left, wasGone and 1 or 0, '1', setBack, moved, kindsVersion, isHealer and 1 or 0, hasMore and 1 or 0 } end -- guard: nodes learn that all sessions are paused

-- Is the kind hosted by a live node?
local hosted = nil
local function isHosted(kind)
  if not hosted then
    local live, all = {}, nodes or readNodes(tag)
    for index = 1, #all do
      if now - all[index].seen <= leaseMs then live[#live + 1] = all[index] end
    end
    hosted = kindsOfNodes(tag, live)
  end
  return hosted[kind]
end

-- Has the worker been in its run queue for longer than a wake-up may take? If the time is ahead of a clock that was set back, nobody can tell.
local function isLate(id)
  local queuedAt = redis.pcall('HGET', workerKey(tag, id), 'queuedAt')
  local apart = now - (type(queuedAt) == 'string' and tonumber(queuedAt) or 0)
  if apart < 0 then apart = -apart end -- guard: a worker ahead of the clock counts as late
  return apart >= wakeupMs
end

local function hasLate(queues)
  for index = 1, #queues do
    local first = redis.call('ZRANGE', queues[index], 0, 0)[1]
    if first and isLate(first) then return true end -- guard: the first worker of a queue tells a full node that it is late
  end
end

local function writeUnhosted(pool, id, kind)
  leaveQueue(tag, pool, kind, id)
  redis.call('ZADD', tag .. ':run:unhosted', digits(nextPlace(tag, 'unhosted')), id)
  redis.call('HSET', workerKey(tag, id), 'pool', 'unhosted')
end

-- Workers in queues of kinds that this node does not host: the nodes that hosted them may have left.
local function healKindQueues(pool, hosted)
  local queued = fromElsewhere(queuedKinds(tag, pool), math.huge)
  for index = 1, #queued do
    local kind = queued[index]
    local mustGo = not hosted[kind] and looks(1) > 0 and (movedTo(pool, kind) or not isHosted(kind))
    local some = mustGo and someIn(kindQueueKey(tag, pool, kind), 0) or {}
    for number = 1, #some do
      if not writeMoved(pool, some[number], kind) then writeUnhosted(pool, some[number], kind) end -- guard: a worker leaves the queue of its kind when nobody hosts it
    end
  end
end

-- The kinds that this node hosts in a pool, by name.
local function hostedIn(pool)
  local hosted = {}
  for kind in string.gmatch(pool.kinds, '%S+') do hosted[kind] = true end
  return hosted
end
local function hasKind(hosted, kind) return hosted[kind] end

local added = {}

-- How many workers of these queues this node can run, and how many of them are late. It looks at the queues only until there are `most`. Workers that no
-- live node can run leave them: claims look only so far, and would never get past them.
local function countFit(pool, hosted, queues, most)
  -- It looks as far as claims do, and no further than there are slots for.
  local farthest = lookMost -- guard: a sweep looks as far into a run queue as claims do
  local fit, late, at, some, number = 0, 0, 1, redis.call('ZRANGE', queues[1], 0, farthest - 1), 0
  while fit < most and at <= #queues do
    number = number + 1
    local id = some[number]
    local kind, isDamaged = nil, false
    if id then kind, isDamaged = kindOf(workerKey(tag, id)) end
    if not id then
      -- Nearly all workers of the other queues are of kinds of this node: it reads no more of them than it needs.
      at, number = at + 1, 0
      some = queues[at] and redis.call('ZRANGE', queues[at], 0, most - fit - 1) or {}
    elseif isDamaged then
      writeDamaged(tag, pool, { { id = id, key = queues[at] } })
    elseif kind and hosted[kind] then -- guard: a sweep sends wake-ups for workers that its node can run
      fit = fit + 1
      -- The wake-ups that are out may belong to nodes that host other kinds. If these nodes are never without work, they pass this worker over for ever.
      if isLate(id) then late = late + 1 end -- guard: a sweep adds a wake-up only for a worker that was queued for longer than a wake-up lasts
    elseif kind and not writeMoved(pool, id, kind) and not isHosted(kind) then
      writeUnhosted(pool, id, kind)
    end
  end
  return fit, late
end

-- Adds wake-ups for this node's free slots in a pool, by the wake-up rule, counting only workers that it can run.
local function addWakeups(pool)
  local hosted = hostedIn(pool)
  healKindQueues(pool.name, hosted)
  local queues = queuesOf(tag, pool.name, hasKind, hosted)
  -- If this node has no free slot and a worker of this queue is late, one of its slots in another pool comes here next.
  if pool.free == 0 and not hasLate(queues) then return end
  local out = redis.call('ZCOUNT', tag .. ':wakeups:' .. pool.name, digits(now), '+inf')
  local fit, late = countFit(pool.name, hosted, queues, pool.free > 0 and math.min(pool.free + out, batch) or 1)
  local passedOver = late -- guard: a sweep sends a wake-up for workers that awake slots pass over
  local whenFull = late -- guard: a sweep tells a full node of a queue in which a worker is late
  for number = 1, pool.free > 0 and math.min(math.max(fit - out, passedOver), pool.free) or whenFull do
    local wakeup = 's' .. header.seed .. '-' .. pool.name .. '-' .. number
    -- Without a free slot the wake-up may wait for long: it does not count as out, so that others can be added.
    if pool.free > 0 then redis.call('ZADD', tag .. ':wakeups:' .. pool.name, digits(now + wakeupMs), wakeup) end -- guard: a wake-up for a full node does not count as out
    added[#added + 1] = pool.name .. ' ' .. wakeup
  end
end

looksLeft = 2 * batch
for index = 1, #pools do
  local pool = pools[index]
  if pool.workersPerWake > 1 then
    redis.call('SET', tag .. ':per-wake:' .. pool.name, pool.workersPerWake, 'PX', digits(math.max(1, everyMs * 3)))
  elseif pool.workersPerWake == 1 then
    redis.call('DEL', tag .. ':per-wake:' .. pool.name)
  end
  addWakeups(pool)
end
return { healed, added, damaged, left, wasGone and 1 or 0, '0', setBack, moved, kindsVersion, isHealer and 1 or 0, hasMore and 1 or 0 }
