--[[ resume – ends the pause of a session: the workers that claims held back return to their run queues, in their former order.
Why a script   a worker that is neither in its run queue nor kept for a resume would never run again.
KEYS[1] root      hash               KEYS[2] held     zset               KEYS[3] quiet    set
KEYS[4] events    stream
ARGV[1] sessionId     ARGV[2] seed         ARGV[3] wakeupMs              ARGV[4] event
Returns {"ok", wakeups, workers} | {"not_found"}. workers: how many return
Builds  T:w:<id> of these workers; T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake, T:wake of their pools; T:nodes, T:pools.
Events  session.resumed of one that was paused. Resuming another is "ok", and writes nothing. ]]
local rootKey, heldKey, quietKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sessionId, seed, wakeupMs, event = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local tag = tagOf(rootKey)
local now = nowMs()
local kind, path, paused = unpack(readFields(rootKey, 'kind', 'path1', 'paused'))
if not kind or path then return { 'not_found' } end -- guard: a session that is asked to resume has a root
if not paused then return { 'ok', '', '0' } end
checkSort('zset', heldKey)
checkArguments(wakeupMs)
checkLast(event)
local held = redis.call('ZRANGE', heldKey, 0, -1)
redis.call('HDEL', rootKey, 'paused')
-- In the order of their places, but from now on: workers that a pause held back do not all come before everybody else.
local woke = newWakes()
for index = 1, #held do
  local field = redis.pcall('HMGET', workerKey(tag, held[index]), 'status', 'pool')
  -- A cancel may have ended the worker meanwhile. A worker whose record cannot be read goes into the pool of those that sweeps look at.
  local pool = field.err and 'unhosted' or (field[2] or atStart.pool)
  if field.err or field[1] == 'queued' then -- guard: a resume queues only workers that wait
    writeWoken(tag, { id = held[index], session = sessionId, pool = pool }, woke) -- guard: a resume brings workers back into their run queues
  end
end
writeQueues(tag, woke)
redis.call('DEL', heldKey, quietKey)
writeEvents(eventsKey, { sessionId, event })
return { 'ok', writeWakeupsOf(tag, woke.pools, seed, now, wakeupMs), digits(#held) } -- guard: wake-up rule after a resume
