--[[ renew – keeps the leases of up to 100 turns of one node, and moves wake-ups of long turns to the busy ones.
Why a script   a lease may only be kept by the holder of the token, and the wake-up rule must see the move.
KEYS[1] leases    zset               KEYS[2] events   stream declared
ARGV[1] leaseMs       ARGV[2] wakeupMs       ARGV[3] seed
ARGV[4] turns         then five for each turn: worker, token, wakeup (or empty), busy (1: the wakeup counts as busy from now on), and what
                      the run is doing (empty: as the last commit said)
Returns {wakeups, verdict, verdict, ...} with a verdict for each turn: "kept" | "fenced" | "cancelled"
Builds  T:w:<id> and that of its root, T:s:<session>:cancelled, T:wakeups, T:busy, T:slots, T:per-wake, T:wake, T:run of the turns' pools; T:nodes.
Events  none. Writes nothing for a turn that is fenced. ]]
local leasesKey = KEYS[1]
local leaseMs, wakeupMs, seed = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local turns, cursor = ARGV, 4

local tag = tagOf(leasesKey)
local now = nowMs()
local verdicts, pools = { '' }, {}
checkArguments(leaseMs, wakeupMs)
checkSort('zset', leasesKey)
if (#turns - cursor + 1) % 5 ~= 0 then error('the list of turns should be a whole number of fives', 0) end
local kept = {}
-- The record, and whether its worker is cancelled, which its root says.
local function readTurn(record, worker, token)
  local fields = readRecord(record)
  if fields.token ~= token then return fields end
  checkRecord(record, fields)
  return fields, readCancellation(tag, fields, worker)
end
for index = cursor, #turns, 5 do
  local worker, token, wakeup, busy, runState = turns[index], turns[index + 1], turns[index + 2], turns[index + 3], turns[index + 4]
  local record = workerKey(tag, worker)
  -- What cannot be read of a worker or its session ends its own turn, and no other.
  local fine, fields, hit = pcall(readTurn, record, worker, token)
  if not fine and not damageOf(fields) then error(fields, 0) end
  if not fine or fields.token ~= token then
    verdicts[#verdicts + 1] = 'fenced'
  else
    verdicts[#verdicts + 1] = hit and 'cancelled' or 'kept'
    kept[#kept + 1] = { worker = worker, wakeup = wakeup, busy = busy, pool = fields.pool or atStart.pool, record = record, runState = runState }
  end
end
for index = 1, #kept do
  local turn = kept[index]
  redis.call('ZADD', leasesKey, digits(now + leaseMs), turn.worker)
  if turn.runState ~= '' then redis.call('HSET', turn.record, 'runState', turn.runState) end
  if turn.wakeup ~= '' and turn.busy == '1' then
    -- No lease waits for wake-ups: what is wrong with their keys the sweeps say.
    redis.pcall('ZREM', tag .. ':wakeups:' .. turn.pool, turn.wakeup)
    redis.pcall('ZADD', tag .. ':busy:' .. turn.pool, digits(now + leaseMs), turn.wakeup)
    -- A turn of this pool is long: a slot that is awake may no longer be expected to take several workers in a row.
    redis.call('DEL', tag .. ':per-wake:' .. turn.pool)
    pools[turn.pool] = true
  end
end
verdicts[1] = writeWakeupsOf(tag, pools, seed, now, wakeupMs)
return verdicts
