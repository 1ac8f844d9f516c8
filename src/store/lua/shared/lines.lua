--[[ lines – the run queues, and who is next in them. A worker's place in a run queue is a virtual time, in µs. T:clocks has the virtual time of each
pool: the place of the worker that was taken last. Who comes gets that place. But the workers of one session stand behind each other, as far apart as
its turns last on average, over its weight. So a session with few workers waits for about one turn of any other, however many stand in the queue.
A claim that finds a worker of a kind that its node does not host moves it to the queue of that kind, T:kind-queues:<pool>:<kind>, with its
place. T:kind-queues:<pool> has these kinds, each with the place of its first worker or one before it. So no claim looks at that worker again but those of
nodes that host its kind.
The root's record has the last place of its session (`score`), its average turn in µs (`turnUs`), and "<weight> <priority>" (`turnShare`). ]]

-- Puts workers into the run queue of a pool: their places and ids in turn. If another program overwrote the key of the queue, they go to the
-- unhosted, and a sweep moves them once the key is mended.
local function enterRunQueue(tag, pool, placed)
  if pool ~= 'default' and pool ~= 'unhosted' then redis.pcall('SADD', tag .. ':pools', pool) end -- guard: whoever queues a worker registers its pool
  local added = redis.pcall('ZADD', tag .. ':run:' .. pool, unpack(placed)) -- guard: run-queue entry on post
  if type(added) == 'table' then redis.pcall('ZADD', tag .. ':run:unhosted', unpack(placed)) end
end

local function kindQueueKey(tag, pool, kind)
  return tag .. ':kind-queues:' .. pool .. ':' .. kind
end

-- Workers that a claim has met, and whose kinds its node does not host: their ids, places and kinds.
local function writeToKindQueues(tag, pool, met)
  for index = 1, #met do
    local one = met[index]
    redis.call('ZREM', tag .. ':run:' .. pool, one.id)
    redis.call('ZADD', kindQueueKey(tag, pool, one.kind), one.queuePlace, one.id) -- guard: a worker of a kind that a node does not host goes to the queue of its kind
    redis.call('ZADD', tag .. ':kind-queues:' .. pool, 'LT', one.queuePlace, one.kind)
  end
end

-- A worker leaves the queue that it stands in. A queue of one kind that is empty is forgotten.
local function leaveQueue(tag, pool, kind, id)
  if redis.call('ZREM', tag .. ':run:' .. pool, id) == 1 then return end
  local key = kindQueueKey(tag, pool, kind)
  redis.pcall('ZREM', key, id) -- guard: a worker leaves the queue of its kind
  if redis.pcall('EXISTS', key) == 0 then redis.pcall('ZREM', tag .. ':kind-queues:' .. pool, kind) end -- guard: a queue of one kind that is empty is forgotten
end

-- The queues of a pool in which a node may find work: the run queue, and those of kinds that it hosts, in the order of their first places. Also
-- tells whether there are others, of kinds that it does not host.
local function queuesOf(tag, pool, kinds)
  local runKey = tag .. ':run:' .. pool
  local queued = redis.pcall('ZRANGE', tag .. ':kind-queues:' .. pool, 0, -1)
  if queued.err or #queued == 0 then return { runKey }, false end
  local queues, firsts = { runKey }, {}
  for index = 1, #queued do
    if string.find(kinds, ' ' .. queued[index] .. ' ', 1, true) then queues[#queues + 1] = kindQueueKey(tag, pool, queued[index]) end -- guard: a claim looks at the queues of its kinds
  end
  local hasOthers = #queues <= #queued
  for index = 1, #queues do
    local first = redis.pcall('ZRANGE', queues[index], 0, 0, 'WITHSCORES')
    firsts[queues[index]] = not first.err and tonumber(first[2]) or math.huge
  end
  table.sort(queues, function(one, other) return firsts[one] < firsts[other] end)
  return queues, hasOthers
end

-- The virtual time of a pool goes on with the places that are taken.
local function writeClock(tag, pool, place)
  redis.pcall('ZADD', tag .. ':clocks', 'GT', place, pool) -- guard: the virtual time of a pool goes on with the places that are taken
end

-- Each asking moves it by one, so that those who come one after the other stand in this order.
local function nextPlace(tag, pool)
  local place = redis.pcall('ZINCRBY', tag .. ':clocks', 1, pool)
  place = type(place) == 'string' and tonumber(place) or 1
  if place > 1 then return place end
  -- Of this pool nothing was ever taken, or its time was lost: then it is that of the first one in the queue.
  local first = redis.pcall('ZRANGE', tag .. ':run:' .. pool, 0, 0, 'WITHSCORES')
  place = 1
  if not first.err then place = math.max(place, tonumber(first[2]) or 1) end -- guard: a virtual time that was lost is that of the first in the queue
  writeClock(tag, pool, digits(place))
  return place
end

-- In each pool a session has places of its own.
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

-- What the root's record says of its session's places. Whatever another program wrote there, the session gets places.
local turnLeast, turnMost = 1000, 3600000000
-- `root`: the fields of that record, where the caller has read them.
local function readStanding(tag, session, pool, root)
  local field = root and { root[scoreField(pool)], root.turnUs, root.turnShare } or redis.pcall('HMGET', rootKeyOf(tag, session), scoreField(pool), 'turnUs', 'turnShare')
  if field.err then field = {} end
  local weight, lead = turnShareOf(field[3] or nil)
  local turnUs = math.min(math.max(tonumber(field[2] or atStart.turnUs) or 0, turnLeast), turnMost)
  return { session = session, pool = pool, last = tonumber(field[1] or atStart.score) or 0,
    step = math.max(1, math.floor(turnUs / weight)), lead = lead }
end

-- Puts a worker into its run queue. `standings`: of the sessions that wake workers in this script. `root`: as above.
local function writePlace(tag, pool, id, session, standings, root)
  local aheadMost = 1e13
  local name = session .. pool
  local standing = standings[name] or readStanding(tag, session, pool, root)
  standings[name] = standing
  local first = nextPlace(tag, pool)
  local place = first
  place = math.max(place, standing.last + standing.step) -- guard: a worker is queued behind the last one of its session
  place = math.min(place, first + aheadMost) -- guard: a session whose last place was damaged goes on
  standing.last = place
  enterRunQueue(tag, pool, { inFront(place, standing.lead), id })
end

-- The last places of these sessions.
local function writeStandings(tag, standings)
  for _, standing in pairs(standings) do
    redis.pcall('HSET', rootKeyOf(tag, standing.session), scoreField(standing.pool), digits(standing.last)) -- guard: a session remembers its last place
  end
end

-- The average turn of a session, when one more has lasted this long.
local function averageTurn(turnUs, turnMs)
  local before, turn = tonumber(turnUs or atStart.turnUs) or 0, turnMs * 1000
  if before == 0 then return digits(turn) end
  return digits(math.min(turnMost, math.floor((before * 7 + turn) / 8)))
end
