--[[ guest – takes a word of the first partition, which has the gates, about a run of this partition; returns the state of that run.
Why a script   the record of a woken worker must name its place, or a cancel in between would keep the place for ever.
KEYS[1] record    hash               KEYS[2] gates    zset
ARGV[1] guest         ARGV[2] says          ARGV[3] seed          ARGV[4] wakeupMs
Returns {standing, wakeups}: in, waits, out or later
Builds  T:w:<root>; T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake, T:wake of its pool; T:nodes, T:pools.
Events  none. ]]
local recordKey, gatesKey = KEYS[1], KEYS[2]
local guest, says, seed, wakeupMs = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local tag = tagOf(recordKey)
local now = nowMs()
checkArguments(wakeupMs)
local run = readGuest(guest)
if not run then error('the first argument should be a run at a gate', 0) end
checkSort('zset', gatesKey)
local standing = standingOf(tag, run)
local woke = newWakes()
if says == 'in' and standing == 'waits' then
  local field = readFields(recordKey, 'gates', 'pool', 'path1')
  local session = sessionOf(run.worker, field[3])
  checkSort('hash', rootKeyOf(tag, session))
  writeWokenRecord(tag, { id = run.worker, session = session, pool = field[2] or atStart.pool, kind = run.kind }, now, woke)
  redis.call('HSET', recordKey, 'gates', gatesText('in', readGates(field[1])), 'wait', atStart.wait) -- guard: a guest that may begin is in progress
  redis.call('HDEL', recordKey, 'gateNumbers')
  standing = 'in'
end
if says == 'out' and standing == 'out' then redis.call('ZREM', gatesKey, guest) end -- guard: a guest is reported until the first partition knows that it is over
if standing == 'in' or standing == 'waits' then redis.call('ZADD', gatesKey, digits(now + gateLookMs), guest) end
writeQueues(tag, woke)
return { standing, writeWakeupsOf(tag, woke.pools, seed, now, wakeupMs) }
