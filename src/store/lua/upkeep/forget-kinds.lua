--[[ forget-kinds – forgets kinds and pools that no node has hosted for long, and for which nothing waits.
Why a script   a kind must not go while a node announces it, or while somebody queues a worker of it.
KEYS[1] kinds     hash               KEYS[2] nodes    hash               KEYS[3] pools    set
KEYS[4] meta      hash               KEYS[5] former   zset
ARGV[1] forgottenMs how long no node must have hosted it
ARGV[2] everyMs   it looks no more often than this
ARGV[3] most      kinds that go in one call
Returns {kinds, pools}: those that were forgotten
Builds  T:seen, T:node-slots; T:run and T:kind-queues of the pools, T:run:unhosted, T:wakeups, T:busy, T:slots; T:w:<id> of queued workers.
Events  none. ]]
local kindsKey, nodesKey, poolsKey, metaKey, formerKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local forgottenMs, everyMs, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

checkArguments(forgottenMs, everyMs, most)
local tag = tagOf(kindsKey)
local now = nowMs()
checkSort('hash', kindsKey, nodesKey, metaKey, tag .. ':seen', tag .. ':node-slots')
checkSort('set', poolsKey)
checkSort('zset', formerKey)
local last = tonumber(redis.call('HGET', metaKey, 'formerAt') or 0) or 0
if now - last < everyMs and last <= now then return { {}, {} } end -- guard: one node looks at the kinds that nobody hosts

-- The kinds that nodes of the register say they host, also nodes that were not seen for a while.
local hosted, nodes = {}, readNodes(tag)
for kind in pairs(kindsOfNodes(tag, nodes)) do hosted['kind ' .. kind] = true end
for index = 1, #nodes do
  for pool in string.gmatch(nodes[index].pools, '[^,]+') do hosted['pool ' .. pool] = true end
end

-- What is hosted again is forgotten here. The first write takes no memory: Redis lets a script that has written go on, even when it is full. There may be
-- thousands of names, so they go together.
local function inParts(command, list)
  for from = 1, #list, 1000 do redis.call(command, formerKey, unpack(list, from, math.min(from + 999, #list))) end
end
local again = {}
for name in pairs(hosted) do again[#again + 1] = name end
inParts('ZREM', again) -- guard: a kind that is hosted again is remembered anew

-- The kinds of the workers in a run queue; nil if it is too long to be looked through, or cannot be read.
local queuedMost, queuedIn = 500, {}
local function kindsQueued(pool)
  if queuedIn[pool] == nil then
    local ids = redis.pcall('ZRANGE', tag .. ':run:' .. pool, 0, queuedMost)
    local found = not ids.err and #ids <= queuedMost and {}
    for index = 1, found and #ids or 0 do
      local kind = redis.pcall('HGET', workerKey(tag, ids[index]), 'kind')
      -- If a record cannot be read, nobody knows its kind.
      if type(kind) ~= 'string' then found = false break end
      found[kind] = true
    end
    queuedIn[pool] = found
  end
  return queuedIn[pool]
end

local function waitsIn(pool, kind)
  local queued = kindsQueued(pool)
  return not queued or queued[kind] or redis.call('EXISTS', kindQueueKey(tag, pool, kind)) == 1
end

-- Which pools have a kind; read once somebody asks. If there are very many kinds, every pool counts as one that has.
local kindsMost, homes = 2000, nil
local function hasKinds(pool)
  if redis.call('HLEN', kindsKey) > kindsMost then return true end -- guard: a pool is forgotten only where all kinds can be looked at
  if not homes then
    homes = {}
    local kinds = redis.call('HKEYS', kindsKey)
    for from = 1, #kinds, 500 do
      local some = redis.call('HMGET', kindsKey, unpack(kinds, from, math.min(from + 499, #kinds)))
      for index = 1, #some do homes[string.match(some[index] or '', '^%S+') or ''] = true end
    end
  end
  return homes[pool]
end

local goneKinds, gonePools = {}, {}
local function mayGo(sort, name)
  if sort == 'kind' then
    local home = string.match(redis.call('HGET', kindsKey, name) or '', '^%S+') or atStart.pool
    return not waitsIn('unhosted', name) and not waitsIn(home, name) -- guard: a kind stays while work of it waits
  end
  -- Whoever queues a worker registers its pool anew.
  return not hasKinds(name) and redis.call('EXISTS', tag .. ':run:' .. name, tag .. ':kind-queues:' .. name, tag .. ':wakeups:' .. name, tag .. ':busy:' .. name) == 0 -- guard: a pool stays while it has kinds or work
end
-- Those that waited longest come first; those of the same time are always in the same order. What stays goes behind all others that are due.
local due, gone = redis.call('ZRANGEBYSCORE', formerKey, '-inf', digits(now - forgottenMs), 'LIMIT', 0, most), {} -- guard: a kind is remembered for long after its last node
for index = 1, #due do
  local sort, name = string.match(due[index], '^(%a*) ?(.*)$')
  if mayGo(sort, name) then
    local names = sort == 'kind' and goneKinds or gonePools
    names[#names + 1], gone[#gone + 1] = name, due[index]
  else
    redis.call('ZADD', formerKey, digits(now - forgottenMs), due[index]) -- guard: kinds that stay hold up no others
  end
end

inParts('ZREM', gone)
for index = 1, #goneKinds do redis.call('HDEL', kindsKey, goneKinds[index]) end
for index = 1, #gonePools do
  redis.call('SREM', poolsKey, gonePools[index])
  redis.call('DEL', tag .. ':slots:' .. gonePools[index])
end
if #goneKinds > 0 then redis.pcall('HINCRBY', metaKey, 'kinds', 1) end -- guard: nodes learn that a kind was forgotten
redis.call('HDEL', metaKey, 'formerAt')
redis.call('HSET', metaKey, 'formerAt', digits(now))
-- If there are very many kinds, it looks at some, at others each time: a kind is forgotten so long after its last node that an hour more changes nothing.
local looksMost, new = 1000, {}
local function noteFormer(sort, names)
  for index = 1, #names do
    local name = sort .. names[index]
    if not hosted[name] then new[#new + 1], new[#new + 2] = digits(now), name end
  end
end
noteFormer('kind ', redis.call('HRANDFIELD', kindsKey, looksMost) or {})
noteFormer('pool ', redis.call('SRANDMEMBER', poolsKey, looksMost))
for from = 1, #new, 1000 do redis.call('ZADD', formerKey, 'NX', unpack(new, from, math.min(from + 999, #new))) end
return { goneKinds, gonePools }
