--[[ resume – ends the pause of a session: the workers that claims held back return to their run queues, in their former order.
Why a script   a worker that is neither in its run queue nor kept for a resume would never run again.
KEYS[1] root      hash               KEYS[2] held     zset               KEYS[3] quiet    set
KEYS[4] events    stream             KEYS[5] idem     string
ARGV[1] sessionId     ARGV[2] seed         ARGV[3] wakeupMs              ARGV[4] event
ARGV[5] idemMs        how long the key of this call is known; 0: the call goes on with a resume that answered "more"
Returns {"ok", wakeups, workers} | {"more", wakeups, workers}: others are left, for the next call or for the nodes | {"not_found"}. workers: how many return
Builds  T:w:<id> of these workers; T:s:<session>:held; T:timers; T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake, T:wake of their pools; T:nodes, T:pools.
Events  session.resumed of one that was paused. Resuming another is "ok", and writes nothing but its key, unless workers are left of its last pause. A resume
        that goes on writes nothing in a session that was paused again meanwhile, and neither does one whose key is known: the call is sent again. ]]
local rootKey, heldKey, quietKey, eventsKey, idemKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local sessionId, seed, wakeupMs, event, idemMs = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])

local tag = tagOf(rootKey)
local now = nowMs()
local kind, path, paused = unpack(readFields(rootKey, 'kind', 'path1', 'paused'))
if not kind or path then return { 'not_found' } end -- guard: a session that is asked to resume has a root
if paused and readAnswer(idemKey, '^(ok)$') then return { 'ok', '', '0' } end -- guard: a resume that goes on, or is sent again, ends no pause that came later
checkSort('zset', heldKey, tag .. ':timers')
checkArguments(wakeupMs, idemMs)
-- A Redis that is full refuses a first write that may take room.
redis.call('HDEL', rootKey, 'paused')
if idemMs > 0 then redis.call('SET', idemKey, 'ok', 'PX', digits(idemMs)) end
if not paused and redis.call('EXISTS', heldKey) == 0 then return { 'ok', '', '0' } end
redis.call('DEL', quietKey)
local woke = newWakes()
local returned, isMore = writeReturned(tag, sessionId, now, woke)
if paused then writeEvents(eventsKey, { sessionId, event }) end
return { isMore and 'more' or 'ok', writeWakeupsOf(tag, woke.pools, seed, now, wakeupMs), digits(returned) } -- guard: wake-up rule after a resume
