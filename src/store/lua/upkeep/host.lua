--[[ host – takes a run of another partition to its gates, which are in this one; or takes the state of such a run from its partition.
Why a script   two runs that see the last free place would both take it.
KEYS[1] gates     zset
ARGV[1] header    json:
  guest            the run, as in shared/turn/gates.lua
  standing         asks: the run wants to begin; in, waits, out or later: its state in its partition
  ancestors        if it asks: the workers that wait for it, each:
    id             of the worker
  at               if it asks or waits: the gates of its kind for the key of its input, each:
    sort           runs or rate
    id             of the gate, behind kind and sort
    key            as text, for people; absent: the gate is for all runs of the kind, or the key is unknown, or the run waits
    most           how many runs may be in progress at once, or begin within perMs
    perMs          for a rate
Returns {"in"} | {"out", freed}: freed is "1" if another run waits for its place | {"waits", sort of the gate, ms until it opens, or "none"} | {"never"}
Builds  T:gate:<gate> and its in, waiting and begun.
Events  none. ]]
local gatesKey = KEYS[1]
local header = readHeader(ARGV[1])

local tag = tagOf(gatesKey)
local now = nowMs()
checkTexts(header, 'guest', 'standing')
local text, standing, asked, ancestors = header.guest, header.standing, listOf(header, 'at'), listOf(header, 'ancestors')
local guest = readGuest(text)
if not guest then error('the header should have a guest', 0) end
checkSort('zset', gatesKey)

-- The gates of the guest, with the numbers that it brings. The numbers of a guest that waits are old: they count only where its gate has gone.
local gates, runsKey = {}, nil
for _, sort in ipairs({ 'runs', 'rate' }) do
  local gate = gateOf(guest.kind, sort, guest.gates[sort])
  if gate then
    checkGate(tag, gate)
    local one = { sort = sort, gate = gate, key = gateKey(tag, gate) }
    one.most, one.perMs = numbersOf(one.key)
    for index = 1, #asked do
      local brought = asked[index]
      checkBrought(brought)
      local isNeeded = standing == 'asks' or redis.call('HEXISTS', one.key, 'most') == 0 -- guard: numbers of a run that waits count only where its gate has gone
      if brought.sort == sort and isNeeded then one.most, one.perMs, one.shown = brought.most, brought.perMs, brought.key end
    end
    gates[#gates + 1] = one
    if sort == 'runs' then runsKey = one.key end
  end
end

local news = '> ' .. text
local isIn = runsKey and redis.call('ZSCORE', runsKey .. ':in', text)
local mayBegin = redis.call('ZSCORE', gatesKey, news)

if standing == 'later' then return { 'in' } end
if standing == 'out' then
  redis.call('ZREM', gatesKey, news)
  for index = 1, #gates do redis.call('ZREM', gates[index].key .. ':waiting', text) end -- guard: a guest that is over leaves the queue of its gate
  local isFreed = false
  if isIn then
    redis.call('ZREM', runsKey .. ':in', text) -- guard: a guest that is over leaves its place
    isFreed = redis.call('EXISTS', runsKey .. ':waiting') == 1
    noteGate(tag, gateOf(guest.kind, 'runs', guest.gates.runs), 0, now)
  end
  return { 'out', isFreed and '1' or '0' }
end
if standing == 'in' then
  redis.call('ZREM', gatesKey, news)
  for index = 1, #gates do redis.call('ZREM', gates[index].key .. ':waiting', text) end
  if runsKey and not isIn then
    redis.call('ZADD', runsKey .. ':in', digits(now), text) -- guard: a guest in progress counts, even if its place was lost
    redis.call('ZADD', gatesKey, digits(now), news) -- guard: a guest that was not counted is asked again whether it is over
    noteGate(tag, gateOf(guest.kind, 'runs', guest.gates.runs), math.huge, now)
  end
  return { 'in' }
end
if isIn or mayBegin then return { 'in' } end -- guard: a guest that asks again takes no other place

local function opensText(opens)
  return opens == math.huge and 'none' or digits(math.max(0, opens - now))
end
for index = 1, #gates do
  local one = gates[index]
  if redis.call('ZSCORE', one.key .. ':waiting', text) then -- guard: a guest that asks again keeps its turn
    return { 'waits', one.sort, opensText(opensAt(one.key, one.most, one.perMs, now)) }
  end
end

-- All that are in progress at the gate wait for this run: ancestors of a guest are guests.
local isAncestor = {}
for index = 1, #ancestors do
  checkTexts(ancestors[index], 'id')
  isAncestor[ancestors[index].id] = true
end
local function areAncestors(key)
  if #ancestors == 0 or redis.call('ZCARD', key .. ':in') > #ancestors then return false end
  local ids = redis.call('ZRANGE', key .. ':in', '0', '-1')
  for index = 1, #ids do
    local other = readGuest(ids[index])
    if not other or not isAncestor[other.worker] then return false end
  end
  return true
end
local closed, opens = closedAmong(gates, now, areAncestors)
if closed == 'never' then return { 'never' } end
if #asked > 0 then writeNumbers(gates) end
if closed then
  local one = gates[closed]
  writeWaits(one.key, text, now)
  noteGate(tag, one.gate, opens, now)
  return { 'waits', one.sort, opensText(opens) }
end
writeBegun(tag, text, guest.kind, guest.gates, now)
-- This answer tells the guest that it may begin. If nothing comes from it for long, its partition is asked for its state.
redis.call('ZADD', gatesKey, digits(standing == 'waits' and now or now + gateLookMs), news) -- guard: a guest that asked and did not come frees its place
return { 'in' }
