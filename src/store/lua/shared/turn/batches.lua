--[[ batches – commits of one script: what is done once for all of them. Each commit is independent. They share one time and one entry of events. One
command each takes away the leases of turns that ended, notes the ends of sessions, and counts what the calls of one model used. The slots claim
after the last commit, one after the other, so that no lease is taken from a worker that was claimed a moment before. The wake-up rule is applied
once, at the end. ]]

-- `last` is the answer of the last commit that was recorded, and `lastKey` its record, which keeps the wake-ups of all. `ended`: workers whose turns
-- ended. `ends`: of sessions that ended, the time and the id in turn. `usage`: by kind and model, what their calls used.
local function newBatch(wakeupMs, seed)
  return { wakeupMs = wakeupMs, seed = seed, now = false, pools = {}, events = {}, ended = {}, ends = {}, usage = {}, claims = {}, last = false, lastKey = false }
end

local function timeOf(batch)
  batch.now = batch.now or nowMs()
  return batch.now
end

-- Claims the slots' next workers. A claim that meets an error (a key that may not be touched while its slot migrates) must not undo what was
-- written before: its slot finds nothing, and asks again when its next wake-up comes.
local function writeClaims(tag, batch)
  for index = 1, #batch.claims do
    local claim, answer = batch.claims[index].claim, batch.claims[index].answer
    local fine, claimed = pcall(claimNext, tag, claim, timeOf(batch))
    answer[4] = fine and claimed or { 'empty' }
    if answer[4][1] == 'unfit' then batch.pools[claim.pool] = true end
  end
end

local function finishBatch(tag, batch)
  if #batch.ended > 0 then redis.pcall('ZREM', tag .. ':leases', unpack(batch.ended)) end -- guard: leases end with the turns | leases end before slots claim
  if #batch.ends > 0 then redis.pcall('ZADD', endsKeyOf(tag), unpack(batch.ends)) end -- guard: a session that ends with a commit has ended
  if next(batch.usage) then writeUsage(tag, batch.usage, timeOf(batch)) end
  if #batch.events > 0 then writeEvents(tag .. ':events', batch.events) end
  writeClaims(tag, batch)
  local wakeups = next(batch.pools) and writeWakeupsOf(tag, batch.pools, batch.seed, timeOf(batch), batch.wakeupMs) or ''
  if wakeups ~= '' then
    batch.last[3] = wakeups
    redis.call('HSET', batch.lastKey, 'wakeups', wakeups)
  end
end
