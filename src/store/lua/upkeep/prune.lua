--[[ prune – removes finished sessions that were kept long enough, a batch at a time.
Why a script   a session must not lose its workers and stay in the index, nor be removed while something of it may still run.
KEYS[1] ends      zset               KEYS[2] cancelling set             KEYS[3] meta     hash
KEYS[4] sessions  zset
ARGV[1] header    json:
  retentionMs      how long a finished session is kept
  from             the time of an end, in ms, from which the pass goes on; 0 starts a pass
  passed           how many sessions of exactly that time were kept
  batch            how many sessions one call looks at
  node             id: nodes share one pass, whose position is in meta. Absent: a pass by hand, which nobody shares
  everyMs          a node begins no pass earlier than this after the last one
Returns {pruned, from, passed}
        pruned: how many sessions this call removed
        from, passed: where to go on; or "done": the pass is over, or another node makes it
Builds  T:w:<id> with all its keys, the keys of T:s:<session>, T:ask:<id> of its asks; T:timers; T:retired.
Events  none: they would outlive what they speak of. ]]
local endsKey, cancellingKey, metaKey, sessionsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local header = readHeader(ARGV[1])

local tag = tagOf(endsKey)
local now = nowMs()
checkNumbers(header, 'retentionMs', 'from', 'passed', 'batch', 'everyMs')
checkTextsIfAny(header, 'node')
local retentionMs, from, passed, batch = header.retentionMs, header.from, header.passed, header.batch
local node, everyMs = header.node, header.everyMs
if node then
  checkSort('hash', metaKey)
  -- One node makes the pass. If it has not called for as long as lies between two passes, it is gone, and the next node that calls goes on.
  local meta = redis.call('HMGET', metaKey, 'prunedAt', 'pruning')
  local last = tonumber(meta[1] or 0) or 0
  local reached, kept, whose = string.match(meta[2] or '', '^(%d+) (%d+) (.*)$')
  if whose ~= node and now - last < everyMs and last <= now then return { 0, 'done', '0' } end -- guard: one node makes a pass of pruning
  from, passed = tonumber(reached or 0), tonumber(kept or 0) -- guard: a pass of pruning outlives its node
end
local function answer(pruned, isDone)
  if node then
    -- A Redis that is full refuses a first write that may take room; sessions that may go can stand behind many that are kept.
    redis.call('HDEL', metaKey, 'pruning')
    local place = isDone and '' or (digits(from) .. ' ' .. digits(passed) .. ' ' .. node)
    redis.call('HSET', metaKey, 'prunedAt', digits(now), 'pruning', place)
  end
  if isDone then return { pruned, 'done', '0' } end
  return { pruned, digits(from), digits(passed) }
end
-- Only ends that are early enough are looked at. By time and not by rank, which Redis counts off from the first: among many that are kept
-- each batch would cost more than the one before.
checkSort('zset', sessionsKey)
passed = math.min(passed, redis.call('ZCOUNT', endsKey, digits(from), digits(from)))
local old = redis.call('ZRANGEBYSCORE', endsKey, digits(from), digits(now - retentionMs), 'WITHSCORES', 'LIMIT', passed, batch)
local pruned, budget = 0, batch * 10

-- How many messages these workers ever accepted, for the audit: those that left their lanes, and those that their lanes still hold.
local counted
local function countAccepted(record)
  counted.workers = counted.workers + 1
  for lane, laneKey in pairs(laneKeys) do
    local given = tonumber(redis.call('HGET', record, lane) or '0')
    if not isWhole(given) then throwDamage('field ' .. lane .. ' of ' .. record .. ' should be a whole number') end
    counted[lane] = counted[lane] + given + redis.call('LLEN', record .. laneKey)
  end
end
local function checkCounts(hash, ...)
  local names = { ... }
  for index = 1, #names do checkCount(hash, names[index], redis.call('HGET', hash, names[index])) end
end
checkSort('hash', tag .. ':retired')
checkCounts(tag .. ':retired', 'sessions', 'workers', 'signals', 'results', 'inbox')

local function isLive(record)
  local status = redis.call('HGET', record, 'status')
  return status and status ~= 'idle' and status ~= 'terminal', status
end

-- Nothing of a session goes before each of its workers was found at rest, in as many calls as that takes: a detached one may outlive its
-- session. An idle worker of an ended session stays idle, because it takes no input any more; and new children come at the end of the list.
-- What this call does with the session: its workers that may go, or were looked at, and how many at the head of the list are known to rest;
-- nil when it is to be kept.
local function readGoing(id, base, root)
  local field = redis.call('HMGET', root, 'kind', 'ended', 'resting')
  local finished = tonumber(string.match(field[2] or '', '^%a+ (%d+)') or '0')
  if field[1] and (finished == 0 or now - finished < retentionMs or redis.call('SISMEMBER', cancellingKey, id) == 1) then return nil end
  checkCounts(root, 'retired', 'resting')
  checkSort('zset', base .. ':asks') -- guard: a pruning is whole even if asks cannot be read
  checkSort('hash', base .. ':blobs') -- guard: a pruning is whole even if blobs cannot be read
  local length = redis.call('LLEN', base .. ':workers')
  local resting = math.min(tonumber(field[3] or atStart.resting), length)
  local first = resting < length and resting or 0
  local workers = redis.call('LRANGE', base .. ':workers', first, first + budget - 1)
  budget = budget - #workers
  local plan = { workers = workers, resting = math.max(resting, first + #workers), last = #workers == length, known = field[1] }
  plan.goes = plan.last or resting == length -- guard: pruning looks at all workers before it takes any
  -- The root goes with the last workers.
  if plan.last then workers[#workers + 1] = rootOf(id) end
  if not plan.last and isLive(root) then return nil end -- guard: pruning looks at the root before it takes any
  counted = { sessions = (plan.last and field[1]) and 1 or 0, workers = 0, signals = 0, results = 0, inbox = 0 }
  for index = 1, #workers do
    local record = workerKey(tag, workers[index])
    local live, status = isLive(record)
    if live then return nil end -- guard: a session is kept while a worker of it may run
    if status then countAccepted(record) end
  end
  return plan
end

-- Takes away these keys, each this name with an id behind it.
local function unlinkAll(name, ids)
  for from = 1, #ids, 1000 do
    local keys = {}
    for index = from, math.min(from + 999, #ids) do keys[index - from + 1] = name .. ids[index] end
    redis.call('UNLINK', unpack(keys))
  end
end

-- The asks of a session go before its last workers. There may be any number of them, so they go in as many calls as that takes. Returns whether none
-- is left.
local function removeAsks(base)
  local most = 1000
  local asks = redis.call('ZRANGE', base .. ':asks', 0, most - 1)
  if #asks == 0 then return true end
  redis.call('ZREM', base .. ':asks', unpack(asks))
  unlinkAll(askKey(tag, ''), asks) -- guard: the asks of a session go with it
  budget = budget - #asks
  return #asks < most
end

for index = 1, #old, 2 do
  local id, endedAt = old[index], tonumber(old[index + 1])
  local base, root = sessionKey(tag, id), rootKeyOf(tag, id)
  -- A damaged session is kept until it is mended.
  local fine, plan = pcall(readGoing, id, base, root)
  if not fine and not damageOf(plan) then error(plan, 0) end
  if not fine or not plan then
    from, passed = endedAt, (endedAt == from and passed or 0) + 1
  elseif not plan.goes then
    -- The next call goes on with this session. The first write takes no memory: Redis lets a script that has written go on, even when it is full.
    redis.call('HDEL', root, 'resting')
    redis.call('HSET', root, 'resting', digits(plan.resting))
    return answer(pruned)
  else
    if plan.last and not removeAsks(base) then return answer(pruned) end -- guard: no more asks go at once than a script may remove
    local workers = plan.workers
    for index = 1, #workers do
      local record = workerKey(tag, workers[index])
      redis.call('UNLINK', record, record .. ':log', record .. ':state', record .. ':failure', record .. ':timers', record .. ':asks', waitingKey(record),
        record .. laneKeys.signals, record .. laneKeys.results, largeKeyOf(record), record .. laneKeys.inbox)
    end
    for what, count in pairs(counted) do redis.call('HINCRBY', tag .. ':retired', what, digits(count)) end
    if plan.last then
      redis.pcall('ZREM', tag .. ':timers', rootOf(id) .. ':notify', rootOf(id) .. ':notify:end', rootOf(id) .. ':resume') -- guard: a pruned session has no further notices
      local blobs = redis.call('HKEYS', base .. ':blobs')
      unlinkAll(base .. ':blob:', blobs) -- guard: the blobs of a session go with it
      budget = budget - #blobs
      redis.call('UNLINK', base .. ':workers', base .. ':cancelled', base .. ':reasons', base .. ':results', base .. ':asks', base .. ':blobs', endingKeyOf(tag, id), heldKeyOf(tag, id), quietKeyOf(tag, id),
        originalsKeyOf(tag, id))
      redis.call('UNLINK', permissionsKeyOf(tag, id)) -- guard: the permissions of a session go with it
      redis.call('ZREM', sessionsKey, id)
      redis.call('ZREM', endsKey, id) -- guard: a pruned session leaves the index of ends
      pruned = pruned + 1
    else
      redis.call('LTRIM', base .. ':workers', #workers, -1)
      redis.call('HSET', root, 'resting', digits(plan.resting - #workers))
      if plan.known then redis.call('HINCRBY', root, 'retired', #workers) end
    end
  end
  if budget <= 0 then return answer(pruned) end
end
return answer(pruned, #old < batch * 2)
