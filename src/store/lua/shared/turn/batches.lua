--[[ batches – commits of one script: what is done once for all of them. Each commit is independent. They share one time and one entry of events. One
command each takes away the leases of turns that ended, notes the ends of sessions, and counts what the calls of one model used. The slots claim
after the last commit, one after the other, so that no lease is taken from a worker that was claimed a moment before. The wake-up rule is applied
once, at the end. ]]

-- `lastAnswer` is that of the last commit that was recorded, and `lastRecordKey` its record, which keeps the wake-ups of all. `ended`: workers whose turns
-- ended. `ends`: of sessions that ended, the time and the id in turn. `usage`: by kind and model, what their calls used.
local function newBatch(wakeupMs, seed)
  return { wakeupMs = wakeupMs, seed = seed, now = false, pools = {}, events = {}, ended = {}, ends = {}, usage = {}, claims = {}, lastAnswer = false, lastRecordKey = false }
end

local function timeOf(batch)
  batch.now = batch.now or nowMs()
  return batch.now
end

-- How many bytes of state and mail an assignment has.
local function bytesOfAssignment(reply)
  local bytes = #(reply[7] or '')
  for lane = 8, 10 do
    local mails = reply[lane] or {}
    for index = 1, #mails do bytes = bytes + #mails[index] end
  end
  return bytes
end

-- What the commits of the script have cost, in bytes of text. A byte of the header counts as 16, since the header grows with the number of their parts.
local function bytesOfCommits(texts)
  local bytes = 16 * #texts[1]
  for index = 2, #texts do bytes = bytes + #texts[index] end
  return bytes
end

-- Claims the slots' next workers, unless the commits, or the claims before, have cost as much as one script may. A claim that meets an error (a key that
-- may not be touched while its slot migrates) must not undo what was written before: its slot finds nothing, and asks again when its next wake-up comes.
local function writeClaims(tag, batch, texts)
  local bytes, bytesMost, looks, looksMost = bytesOfCommits(texts), 1048576, 0, 256
  for index = 1, #batch.claims do
    local claim, answer = batch.claims[index].claim, batch.claims[index].answer
    local isFull = bytes >= bytesMost or looks >= looksMost
    local fine, claimed, looked = true, { 'later' }, 0
    if not isFull then fine, claimed, looked = pcall(claimNext, tag, claim, timeOf(batch)) end -- guard: claims of one script read no more than a script may
    answer[4] = fine and claimed or { 'empty' }
    if answer[4][1] == 'assigned' then bytes = bytes + bytesOfAssignment(claimed) end
    looks = looks + (fine and looked or 0)
    if answer[4][1] == 'unfit' then batch.pools[claim.pool] = true end
  end
end

local function finishBatch(tag, batch, texts)
  if #batch.ended > 0 then redis.pcall('ZREM', tag .. ':leases', unpack(batch.ended)) end -- guard: leases end with the turns | leases end before slots claim
  if #batch.ends > 0 then redis.pcall('ZADD', endsKeyOf(tag), unpack(batch.ends)) end -- guard: a session that ends with a commit has ended
  if next(batch.usage) then writeUsage(tag, batch.usage, timeOf(batch)) end
  if #batch.events > 0 then writeEvents(tag .. ':events', batch.events) end
  writeClaims(tag, batch, texts)
  local wakeups = next(batch.pools) and writeWakeupsOf(tag, batch.pools, batch.seed, timeOf(batch), batch.wakeupMs) or ''
  if wakeups ~= '' then
    batch.lastAnswer[3] = wakeups
    redis.call('HSET', batch.lastRecordKey, 'wakeups', wakeups)
  end
end
