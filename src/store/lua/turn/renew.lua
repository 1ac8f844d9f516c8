--[[ renew – keeps the leases of up to 100 turns of one node, and moves wake-ups of long turns to the busy ones.
Why a script   a lease may only be kept by the holder of the token, and the wake-up rule must see the move.
KEYS[1] leases    zset               KEYS[2] events   stream declared
ARGV[1] header    json:
  leaseMs          how long the leases last from now on
  wakeupMs         how long a wake-up counts as sent
  seed             names of new wake-ups begin with it
  turns            each:
    worker, token  which the node holds
    wakeup         the one that the turn answers; absent: none
    becomesBusy    true: the wake-up counts as busy from now on
    quiet          true: the turn is paused, and begins nothing more
    runState       state of the run; absent: as the last commit said
Returns {wakeups, verdict, verdict, ...} with a verdict for each turn: "kept" | "fenced" | "cancelled" | "paused"; behind it the positions of the
        inputs that steer the worker, as in an answer of commit
Builds  T:w:<id> and that of its root, T:s:<session>:cancelled, T:s:<session>:quiet, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake, T:wake, T:run of the turns' pools; T:nodes.
Events  none. Writes nothing for a turn that is fenced. ]]
local leasesKey = KEYS[1]
local header = readHeader(ARGV[1])

local tag = tagOf(leasesKey)
local now = nowMs()
local verdicts, pools = { '' }, {}
checkNumbers(header, 'leaseMs', 'wakeupMs')
checkTexts(header, 'seed')
local leaseMs, turns = header.leaseMs, listOf(header, 'turns')
for index = 1, #turns do
  checkTexts(turns[index], 'worker', 'token')
  checkTextsIfAny(turns[index], 'wakeup', 'runState')
end
checkSort('zset', leasesKey)
local kept = {}
-- The record of the worker, whether it is cancelled, and whether its session is paused, which the record of the root says.
local function readTurn(record, worker, token)
  local fields = readRecord(record)
  if fields.token ~= token then return fields end
  checkRecord(record, fields)
  local cancelled, _, _, _, paused = readCancellation(tag, fields, worker)
  if paused then checkSort('set', quietKeyOf(tag, sessionOf(worker, fields.path1))) end
  return fields, cancelled, paused
end
for index = 1, #turns do
  local turn = turns[index]
  local worker, token, record = turn.worker, turn.token, workerKey(tag, turn.worker)
  -- Damage to a worker or its session ends this turn, and no other.
  local fine, fields, cancelled, paused = pcall(readTurn, record, worker, token) -- guard: a renewal ends the turn that is damaged, and no other
  if not fine and not damageOf(fields) then error(fields, 0) end
  if not fine or fields.token ~= token then -- guard: token check of renew
    verdicts[#verdicts + 1] = 'fenced'
  else
    local verdict = cancelled and 'cancelled' or 'kept' -- guard: cancel check of renew
    if paused and not cancelled then verdict = 'paused' end -- guard: pause check of renew
    local steered = fields.steered or atStart.steered
    verdicts[#verdicts + 1] = steered == atStart.steered and verdict or verdict .. ' ' .. steered -- guard: a renewal answers what steers the worker
    kept[#kept + 1] = { worker = worker, sent = turn, pool = fields.pool or atStart.pool, record = record,
      quiet = paused and turn.quiet and quietKeyOf(tag, sessionOf(worker, fields.path1)) }
  end
end
for index = 1, #kept do
  local turn = kept[index]
  redis.call('ZADD', leasesKey, digits(now + leaseMs), turn.worker)
  local wakeup, runState = turn.sent.wakeup, turn.sent.runState
  if runState then redis.call('HSET', turn.record, 'runState', runState) end
  if turn.quiet then redis.call('SADD', turn.quiet, turn.worker .. ' ' .. turn.sent.token) end -- guard: a node says that it begins nothing more
  if wakeup and turn.sent.becomesBusy then
    -- No lease waits for wake-ups: if their keys are damaged, the sweeps report that.
    redis.pcall('ZREM', tag .. ':wakeups:' .. turn.pool, wakeup) -- guard: wake-up of a long turn counts as busy
    redis.pcall('ZADD', tag .. ':busy:' .. turn.pool, digits(now + leaseMs), wakeup)
    -- A turn of this pool is long: a slot that is awake may no longer be expected to take several workers in a row.
    redis.pcall('DEL', tag .. ':per-wake:' .. turn.pool)
    pools[turn.pool] = true
  end
end
verdicts[1] = writeWakeupsOf(tag, pools, header.seed, now, header.wakeupMs)
return verdicts
