--[[ run-queues – the run queues of pools, and which worker comes next. A worker's score in a run queue is a virtual time in µs.
T:clocks has the virtual time of each pool: the score of the worker that a claim took last. A new worker gets that score. The workers of one
session stand behind each other: the distance is the average turn of the session, divided by its weight. So a session with few workers waits for
about one turn of each other session, however many workers those have in the queue.
A claim may meet a worker of a kind that its node does not host. It moves that worker, with its score, to the queue of the kind,
T:kind-queues:<pool>:<kind>. Only claims of nodes that host the kind look there. T:kind-queues:<pool> is the set of these kinds.
The root's record has the last score of its session (`score`), its average turn in µs (`turnUs`), and "<weight> <priority>" (`turnShare`). ]]

-- Puts workers into the run queue of a pool: their places and ids in turn. If another program overwrote the key of the queue, they go to the
-- unhosted, and a sweep moves them once the key is mended.
local function enterRunQueue(tag, pool, placed)
  if pool ~= 'default' and pool ~= 'unhosted' then redis.pcall('SADD', tag .. ':pools', pool) end -- guard: a queued worker has its pool registered
  for from = 1, #placed, 2000 do
    local to = math.min(from + 1999, #placed)
    local added = redis.pcall('ZADD', tag .. ':run:' .. pool, unpack(placed, from, to)) -- guard: a post puts its worker into the run queue
    if type(added) == 'table' then redis.pcall('ZADD', tag .. ':run:unhosted', unpack(placed, from, to)) end
  end
end

local function kindQueueKey(tag, pool, kind)
  return tag .. ':kind-queues:' .. pool .. ':' .. kind
end

-- The kinds of a pool that have a queue of their own.
local function queuedKinds(tag, pool)
  local kinds = redis.pcall('SMEMBERS', tag .. ':kind-queues:' .. pool)
  return kinds.err and {} or kinds
end

-- Moves workers that a claim met, and whose kinds its node does not host, to the queues of their kinds. `met`: their ids, places and kinds. If
-- another program overwrote the key of a queue, its workers stay where they are.
local function writeToKindQueues(tag, pool, met)
  local placed, ids = {}, {}
  for index = 1, #met do
    local one = met[index]
    local places, own = placed[one.kind] or {}, ids[one.kind] or {}
    placed[one.kind], ids[one.kind] = places, own
    places[#places + 1], places[#places + 2], own[#own + 1] = one.queuePlace, one.id, one.id
  end
  for kind, places in pairs(placed) do
    local added = redis.pcall('ZADD', kindQueueKey(tag, pool, kind), unpack(places))
    if type(added) == 'number' then -- guard: a worker stays in the run queue where the queue of its kind was overwritten
      redis.call('ZREM', tag .. ':run:' .. pool, unpack(ids[kind])) -- guard: a worker of a kind that a node does not host goes to the queue of its kind
      redis.pcall('SADD', tag .. ':kind-queues:' .. pool, kind)
    end
  end
end

-- Takes workers out of this queue. Returns whether the only one was there. A queue of one kind that is empty is forgotten, or it would count as work.
local function takeFrom(tag, pool, queueKey, ...)
  local wasThere = redis.pcall('ZREM', queueKey, ...) == 1
  local kindsKey = tag .. ':kind-queues:' .. pool
  local isOfKind = string.sub(queueKey, 1, #kindsKey) == kindsKey
  if isOfKind and redis.pcall('EXISTS', queueKey) == 0 then redis.pcall('SREM', kindsKey, string.sub(queueKey, #kindsKey + 2)) end -- guard: a queue of one kind that is empty is forgotten
  return wasThere
end

-- Takes a worker out of whichever queue it stands in.
local function leaveQueue(tag, pool, kind, id)
  if takeFrom(tag, pool, tag .. ':run:' .. pool, id) then return end
  takeFrom(tag, pool, kindQueueKey(tag, pool, kind), id) -- guard: a worker leaves the queue of its kind
end

-- The queues of a pool in which a node may find work: the run queue, and those of kinds that it hosts, in the order of their first places.
-- `hosts(own, kind)` says whether it hosts a kind. Also returns whether there are queues of kinds that the node does not host. If there are very many queues, it
-- looks at some of them, at others each time.
local function queuesOf(tag, pool, hosts, own)
  local queuesMost = 128
  local runKey, queued = tag .. ':run:' .. pool, queuedKinds(tag, pool)
  if #queued == 0 then return { runKey }, false end
  local queues, firsts, hasOthers = { runKey }, {}, false
  for index = 1, #queued do
    if hosts(own, queued[index]) then -- guard: a claim looks at the queues of its kinds
      queues[#queues + 1] = kindQueueKey(tag, pool, queued[index])
    else
      hasOthers = true
    end
  end
  local others = #queues - 1
  if others > queuesMost then -- guard: a claim looks at no more queues of kinds than a script may
    local from, some = redis.call('TIME')[2] % others, { runKey }
    for index = 1, queuesMost do some[index + 1] = queues[2 + (from + index) % others] end
    queues = some
  end
  for index = #queues, 1, -1 do
    local first = redis.pcall('ZRANGE', queues[index], 0, 0, 'WITHSCORES')
    firsts[queues[index]] = not first.err and tonumber(first[2]) or math.huge
    if first.err and index > 1 then table.remove(queues, index) end -- guard: a queue of one kind that was overwritten stops no claim
  end
  table.sort(queues, function(one, other) return firsts[one] < firsts[other] end)
  return queues, hasOthers
end

-- Moves the virtual time of a pool on to a place that was taken.
local function writeClock(tag, pool, place)
  redis.pcall('ZADD', tag .. ':clocks', 'GT', place, pool) -- guard: the virtual time of a pool goes on with the places that are taken
end

-- The first of `count` places that follow each other: each moves the virtual time by one, so that the workers stand in this order.
local function nextPlaces(tag, pool, count)
  local last = redis.pcall('ZINCRBY', tag .. ':clocks', count, pool)
  last = type(last) == 'string' and tonumber(last) or count
  if last > count then return last - count + 1 end
  -- No worker of this pool was ever taken, or its virtual time was lost: then it is the place of the first worker in the queue.
  local first, place = redis.pcall('ZRANGE', tag .. ':run:' .. pool, 0, 0, 'WITHSCORES'), 1
  if not first.err then place = math.max(place, tonumber(first[2]) or 1) end -- guard: a lost virtual time is taken from the first worker in the queue
  writeClock(tag, pool, digits(place + count - 1))
  return place
end

local function nextPlace(tag, pool)
  return nextPlaces(tag, pool, 1)
end

-- The field that holds the last place of a session: it has one in each pool.
local function scoreField(pool)
  return pool == atStart.pool and 'score' or ('score:' .. pool)
end

-- How far in front of others a session stands by its priority, in µs, and the weight of its turns.
local function turnShareOf(text)
  local levelUs = 1000000
  local weight, priority = string.match(text or atStart.turnShare, '^(%d+) (%d+)$')
  return math.max(1, tonumber(weight or 1)), tonumber(priority or 0) * levelUs
end

local function inFront(place, lead)
  return digits(math.max(0, place - lead)) -- guard: a session of a higher priority stands further in front
end

-- What the root's record says of its session's places. If another program wrote over these fields, the session gets places all the same.
local turnLeast, turnMost = 1000, 3600000000
-- `root`: the fields of that record, where the caller has read them.
local function readStanding(tag, session, pool, root)
  local field = root and { root[scoreField(pool)], root.turnUs, root.turnShare } or redis.pcall('HMGET', rootKeyOf(tag, session), scoreField(pool), 'turnUs', 'turnShare')
  if field.err then field = {} end
  local weight, lead = turnShareOf(field[3] or nil)
  local turnUs = math.min(math.max(tonumber(field[2] or atStart.turnUs) or 0, turnLeast), turnMost)
  return { last = tonumber(field[1] or atStart.score) or 0, step = math.max(1, math.floor(turnUs / weight)), lead = lead }
end

-- What a script wakes: the workers, and the pools that got work. Commits of one script share `pools`.
local function newWakes(pools)
  return { woken = {}, queued = {}, pools = pools or {} }
end

-- Puts a worker that is to run into `woke`: it gets a place in its run queue when the script ends. All workers get their places at once, since one by
-- one these cost as much as their records. If other fields of its record change at the same time, the caller also writes there that it is queued.
-- `plan`: id, session, pool, and root as above.
local function writeWoken(tag, plan, woke)
  woke.woken[plan.id] = true
  local queued = woke.queued[plan.pool] or {}
  woke.queued[plan.pool], queued[#queued + 1] = queued, plan
  woke.pools[plan.pool] = true
end

-- The places of workers of one pool, in the order in which they were woken; `standings`: of their sessions. The last place stands first in the list:
-- a short queue is one piece of memory, which Redis reads from its head to the place of whoever comes.
local function placesOf(tag, pool, queued, standings)
  local aheadMost = 1e13
  local first, placed, size = nextPlaces(tag, pool, #queued), {}, 2 * #queued
  for index = 1, #queued do
    local plan, own = queued[index], first + index - 1
    local standing = standings[plan.session] or readStanding(tag, plan.session, pool, plan.root)
    standings[plan.session] = standing
    local place = own
    place = math.max(place, standing.last + standing.step) -- guard: a worker is queued behind the last one of its session
    place = math.min(place, own + aheadMost) -- guard: a session whose last place was damaged goes on
    standing.last = place
    local at = size - 2 * index + 1
    placed[at], placed[at + 1] = inFront(place, standing.lead), plan.id
  end
  return placed
end

-- Puts all that were woken into their run queues, and remembers the last place of each of their sessions. A script that works through many workers,
-- one after the other, calls this after each: if a later one meets an error, none before it is left without its place.
local function writeQueues(tag, woke)
  for pool, queued in pairs(woke.queued) do
    local standings = {}
    enterRunQueue(tag, pool, placesOf(tag, pool, queued, standings))
    for session, standing in pairs(standings) do
      redis.pcall('HSET', rootKeyOf(tag, session), scoreField(pool), digits(standing.last)) -- guard: a session remembers its last place
    end
  end
  woke.queued = {}
end

-- The average turn of a session, after one more turn that lasted this long; nothing where it stays as it is. A turn of less than a millisecond counts
-- as none, and only where turns were longer: most sessions have none but such turns, and write no average.
local function averageTurn(turnUs, turnMs)
  local before, turn = tonumber(turnUs or atStart.turnUs) or 0, turnMs * 1000
  if turn == 0 and before <= turnLeast then return nil end -- guard: a session whose turns become short stands behind others for less long
  if before == 0 then return digits(turn) end
  return digits(math.min(turnMost, math.floor((before * 7 + turn) / 8)))
end
