--[[ enter – lets a run of a kind with gates begin; or lets it wait, which ends its turn.
Why a script   two runs that see the last free place would both take it, and a waiting worker must hold neither lease nor token.
KEYS[1] record    hash               KEYS[2] leases   zset               KEYS[3] gates    zset
ARGV[1] header    json:
  worker           id
  token            by which the node holds the worker
  at               the gates of its kind for the key of its input, each:
    sort           runs or rate
    id             of the gate, behind kind and sort
    key            as text, for people; absent: the gate is for all runs of the kind, or the key is unknown
    most           how many runs may be in progress at once, or begin within perMs
    perMs          for a rate
  guest            absent: this is the first partition. Else the answer of the first one: in; or runs or rate, and the ms until it opens, or none
Returns {"in"}: the run begins, or has begun before | {"waits", ms until the gate opens, or "none"} | {"fenced"} | {"cancelled"}
        | {"never"}: every run that is in progress there waits for this one
Builds  T:w:<root>, T:s:<session>:cancelled, T:gate:<gate> and its in, waiting and begun.
Events  none. Unless it returns "in" or "waits" it writes nothing, except for a guest: that a word goes to the first partition. ]]
local recordKey, leasesKey, gatesKey = KEYS[1], KEYS[2], KEYS[3]
local header = readHeader(ARGV[1])

local tag = tagOf(recordKey)
local now = nowMs()
checkTexts(header, 'worker', 'token')
local worker, at = header.worker, listOf(header, 'at')
local record = readRecord(recordKey)
if record.commit == header.token .. ':0' then return { 'waits', 'none' } end -- guard: a run that waits gets the same answer again
if record.token ~= header.token or record.status ~= 'running' then return { 'fenced' } end -- guard: token check of enter
if string.sub(record.commit or '', 1, #header.token + 1) == header.token .. ':' then return { 'in' } end -- guard: a run that has ended does not begin again
checkRecord(recordKey, record)
local own = readGates(record.gates)
if own and own.state == 'in' then return { 'in' } end -- guard: a run begins once
checkSort('zset', leasesKey, gatesKey)

-- Does every run that is in progress at the gate wait for this one? An ancestor's run waits for it if every worker in between is in its first run and
-- none is detached. Nobody waits for a later run: a message began it.
local function isOfAncestors(key)
  local level, found = tonumber(record.depth or atStart.depth), 0
  local isAwaited = (record.run or atStart.run) == '1' -- guard: a run that a message began waits at a gate like any other
  while level > 0 and isAwaited and behindId(record['path' .. level]) ~= '-' do
    if redis.call('ZSCORE', key .. ':in', idIn(record['path' .. level])) then found = found + 1 end
    isAwaited = behindId(record['path' .. level]) == '1' -- guard: what a later run of an ancestor spawned waits at a gate like any other
    level = level - 1
  end
  return found > 0 and found == redis.call('ZCARD', key .. ':in')
end

local gates, keyed = {}, {}
for index = 1, #at do
  local one = at[index]
  checkBrought(one)
  local gate = gateOf(record.kind, one.sort, one.id)
  if not header.guest then checkGate(tag, gate) end
  gates[one.sort] = one.id
  keyed[index] = { key = gateKey(tag, gate), most = one.most, perMs = one.perMs, shown = one.key }
end
checkTextsIfAny(header, 'guest')
local isCancelled = readCancellation(tag, record, worker)
if header.guest then
  gates.version = record.version or '0'
  local tellAt = isCancelled and now or now + gateLookMs -- guard: a guest that is cancelled before it begins is told of at once
  redis.call('ZADD', gatesKey, digits(tellAt), guestText(record.kind, worker, gates)) -- guard: a guest is reported from time to time
end
if isCancelled then return { 'cancelled' } end -- guard: cancel check of enter

-- The first gate at which the run must wait, and when that gate opens.
local closed, opens
if header.guest then
  local answer, opensIn = string.match(header.guest, '^(%l+) ?(%S*)$')
  if answer ~= 'in' then closed, opens = answer, now + (tonumber(opensIn) or math.huge) end
else
  closed, opens = closedAmong(keyed, now, isOfAncestors)
  if closed == 'never' then return { 'never' } end
  closed = closed and at[closed].sort
end

-- The first write, so it may fail.
if not header.guest then writeNumbers(keyed) end
if not closed then
  if not header.guest then writeBegun(tag, worker, record.kind, gates, now) end
  redis.call('HSET', recordKey, 'gates', gatesText('in', gates))
  return { 'in' }
end
if header.guest then
  redis.call('HSET', recordKey, 'gateNumbers', gateNumbersText(at)) -- guard: a guest that waits keeps the numbers of its gates
else
  local gate = gateOf(record.kind, closed, gates[closed])
  writeWaits(gateKey(tag, gate), worker, now)
  noteGate(tag, gate, opens, now)
end
-- The worker is as after a commit of this claim that recorded nothing: its version stays.
redis.call('HSET', recordKey, 'gates', gatesText(closed, gates), 'status', 'parked', 'wait', 'gate', 'token', atStart.token)
redis.call('HSET', recordKey, 'commit', header.token .. ':0:' .. (record.version or '0')) -- guard: a worker that waits at a gate keeps its epoch, and is no suspect
if record.isolated then redis.call('HSET', recordKey, 'isolated', atStart.isolated) end -- guard: isolated starts of a run that waits at a gate count anew
redis.call('ZREM', leasesKey, worker) -- guard: a run that waits at a gate holds no lease
-- A run that was retried has begun before.
local hasBegun = record.open == '1' or (record.attempt or atStart.attempt) ~= '0' -- guard: a retried run that waits at a gate gets a last step
if awaitsLastStep(record) and not hasBegun then redis.call('HSET', recordKey, 'onCancel', digits(tonumber(record.run or atStart.run) - 1)) end -- guard: a run that waits at a gate before it begins gets no last step
return { 'waits', opens == math.huge and 'none' or digits(math.max(0, opens - now)) }
