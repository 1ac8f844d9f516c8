--[[ prune – removes finished sessions that were kept long enough, a batch at a time.
Why a script   a session must not lose its workers and stay in the index, nor be removed while something of it may still run.
KEYS[1] sessions  zset               KEYS[2] cancelling set
ARGV[1] retentionMs   ARGV[2] cursor       rank to go on from; 0 starts a pass     ARGV[3] batch
Returns {pruned, cursor}: sessions removed in this call; where to go on, or "done"
Builds  T:s:<session> and T:w:<id> with all their keys.
Events  none: they would outlive what they speak of. ]]
local sessionsKey, cancellingKey = KEYS[1], KEYS[2]
local retentionMs, cursor, batch = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local tag = tagOf(sessionsKey)
local now = nowMs()
-- A session cannot have finished before it was created: only those created early enough are looked at.
local old = redis.call('ZRANGEBYSCORE', sessionsKey, '-inf', digits(now - retentionMs), 'LIMIT', cursor, batch)
local pruned, kept, budget = 0, 0, batch * 10
for index = 1, #old do
  local id = old[index]
  local base = sessionKey(tag, id)
  local field = redis.call('HMGET', base, 'schema', 'ended')
  local finished = tonumber(string.match(field[2] or '', '^%a+ (%d+)') or '0')
  if field[1] and (finished == 0 or now - finished < retentionMs or redis.call('SISMEMBER', cancellingKey, id) == 1) then
    kept = kept + 1
  else
    local workers = redis.call('LRANGE', base .. ':workers', 0, budget - 1)
    budget = budget - #workers
    local last = redis.call('LLEN', base .. ':workers') == #workers
    if last then workers[#workers + 1] = rootOf(id) end
    -- A detached child may outlive its session: while one is queued, runs or waits, nothing of this batch goes.
    local active = false
    for place = 1, #workers do
      local state = redis.call('HGET', workerKey(tag, workers[place]), 'state')
      if state and state ~= 'idle' and state ~= 'terminal' then active = true end
    end
    if active then
      kept = kept + 1
    else
      for place = 1, #workers do
        local record = workerKey(tag, workers[place])
        redis.call('UNLINK', record, record .. ':log', record .. ':state', record .. ':failure', record .. ':timers',
          record .. laneKeys.control, record .. laneKeys.family, record .. laneKeys.user)
      end
      if last then
        redis.call('UNLINK', base, base .. ':workers', base .. ':cancelled')
        redis.call('ZREM', sessionsKey, id)
        pruned = pruned + 1
      else
        redis.call('LTRIM', base .. ':workers', #workers, -1)
      end
    end
    if budget <= 0 then return { pruned, digits(cursor + kept) } end
  end
end
if #old < batch then return { pruned, 'done' } end
return { pruned, digits(cursor + kept) }
