--[[ rest – records that an idle node is alive, and returns whether its partition has work for it.
Why a script   it must read one moment: whoever queues work after that moment wakes a node, which then sweeps.
KEYS[1] meta      hash               KEYS[2] nodes    hash               KEYS[3] pools    set
KEYS[4] timers    zset               KEYS[5] leases   zset               KEYS[6] cancelling set
ARGV[1] node
Returns {"rests", dueIn, paused, kinds}: ms until the next timer is due, or "none"; "1" while all sessions are paused; the version of the register of kinds.
        {"sweep"}: there is work, or this node is not in the register.
Builds  T:seen; T:run and T:kind-queues of pools; T:run:unhosted; T:gates.
Events  none. ]]
local metaKey, nodesKey, poolsKey, timersKey, leasesKey, cancellingKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local node = ARGV[1]

checkLast(node)
local tag = tagOf(metaKey)
local now = nowMs()
-- If a key is of the wrong sort, the sweep reports it.
local meta = redis.pcall('HMGET', metaKey, 'sweptAt', 'paused', 'kinds', 'moving')
local line = redis.pcall('HGET', nodesKey, node)
local isKnown = type(line) == 'string'
local own = isKnown and string.match(line, '^%d+ %d+ (%S*)') or ''
-- There may be thousands of pools: it looks at those of its node, and at some of the others, elsewhere each time.
local pools = redis.pcall('SRANDMEMBER', poolsKey, 500) -- guard: a node that rests looks at no more pools than a script may
local first = redis.pcall('ZRANGE', timersKey, 0, 0, 'WITHSCORES')
if meta.err or pools.err or first.err or not isKnown then return { 'sweep' } end -- guard: a node that rests and is not registered sweeps
for name in string.gmatch(own, '[^,]+') do pools[#pools + 1] = name end -- guard: a node that rests sweeps while workers are queued in its pools
local isSetBack = (tonumber(meta[1] or '0') or 0) > now or meta[4]
local dueIn = first[2] and tonumber(first[2]) - now
if isSetBack or (dueIn and dueIn <= 0) then return { 'sweep' } end -- guard: a node that rests sweeps when the clock was set back, or a timer is due

local work = { leasesKey, cancellingKey, tag .. ':gates', tag .. ':run:unhosted', tag .. ':run:default', tag .. ':kind-queues:default' } -- guard: a node that rests sweeps while there are leases, cancels or queued workers
for index = 1, #pools do
  work[#work + 1] = tag .. ':run:' .. pools[index]
  work[#work + 1] = tag .. ':kind-queues:' .. pools[index] -- guard: a node that rests sweeps while workers are queued in any pool
end
for from = 1, #work, 1000 do
  if redis.call('EXISTS', unpack(work, from, math.min(from + 999, #work))) > 0 then return { 'sweep' } end
end
redis.pcall('HSET', tag .. ':seen', node, digits(now)) -- guard: a node that rests says that it lives
redis.call('HSET', metaKey, 'sweptAt', digits(now))
return { 'rests', dueIn and digits(dueIn) or 'none', meta[2] and '1' or '0', meta[3] or '' }
