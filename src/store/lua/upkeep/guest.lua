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
  local field = readFields(recordKey, 'gates', 'pool', 'path1', 'commit')
  local session, gates = sessionOf(run.worker, field[3]), readGates(field[1])
  local one = { id = run.worker, session = session, pool = field[2] or atStart.pool, kind = run.kind, gates = gates, recordKey = recordKey }
  if readFields(rootKeyOf(tag, session), 'paused')[1] then -- guard: a guest of a paused session takes no place
    -- When the run asks anew, it is another guest: a word about this one that comes late must not concern it.
    local commit, version = string.match(field[4] or '0::0:0', '^(.*:)(%d+)$')
    if not version then throwDamage('field commit of ' .. recordKey .. ' should end with the number of commits') end
    writePassedOver(tag, one, now, woke)
    redis.call('HSET', recordKey, 'commit', commit .. digits(version + 1)) -- guard: a guest that was passed over asks under another name
    redis.call('ZADD', gatesKey, digits(now), guest)
    standing = 'out'
  else
    writeWokenRecord(tag, one, now, woke)
    redis.call('HSET', recordKey, 'gates', gatesText('in', gates), 'wait', atStart.wait) -- guard: a guest that may begin is in progress
    standing = 'in'
  end
  redis.call('HDEL', recordKey, 'gateNumbers')
end
if says == 'out' and standing == 'out' then redis.call('ZREM', gatesKey, guest) end -- guard: a guest is reported until the first partition knows that it is over
if standing == 'in' or standing == 'waits' then redis.call('ZADD', gatesKey, digits(now + gateLookMs), guest) end
writeQueues(tag, woke)
return { standing, writeWakeupsOf(tag, woke.pools, seed, now, wakeupMs) }
