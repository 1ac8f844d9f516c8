--[[ finish – ends what a cancel stopped and no turn is running: idle, queued and parked workers, in batches.
Why a script   a worker must leave the run queue, its timers and its wait at once, and only if no node holds it.
KEYS[1] session   hash               KEYS[2] cancelled set               KEYS[3] cancelling set
KEYS[4] workers   list               KEYS[5] timers   zset   declared    KEYS[6] events   stream
ARGV[1] sessionId     ARGV[2] from         position in the list of workers; 0 starts a pass     ARGV[3] batch
ARGV[4] running       workers seen running so far in this pass           ARGV[5] eventsKept
ARGV[6] entry         history entry of a cancelled run, json             ARGV[7] seed     ARGV[8] bellMs
Returns {next, running, bells}: where the next batch begins, or "done" when the cancel is finished, or "wait" when workers still run
Builds  T:w:<id> and its keys, T:run of its pool, the parent of a worker cancelled by itself.
Events  worker.cancelled for each, session.cancelled at the end. ]]
local sessionKeyName, cancelledKey, cancellingKey, workersKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6]
local sessionId, from, batch, running, eventsKept, entry = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
local seed, bellMs = ARGV[7], tonumber(ARGV[8])

local tag = tagOf(sessionKeyName)
local now = nowMs()
local facts = redis.call('HMGET', sessionKeyName, 'root', 'state', 'cancel')
if not facts[1] then
  redis.call('SREM', cancellingKey, sessionId)
  return { 'done', '0', '' }
end
local ids = redis.call('LRANGE', workersKey, from, from + batch - 1)
local count = #ids
if from == 0 then table.insert(ids, 1, facts[1]) end

local rootEnded, scores, pools = nil, newScores(), {}
for index = 1, #ids do
  local id = ids[index]
  local record = workerKey(tag, id)
  local field = redis.call('HMGET', record, 'state', 'run', 'open', 'pool', 'depth', 'control', 'family', 'history', 'parent', 'version')
  local state, run = field[1], field[2]
  if state and state ~= 'terminal' then
    local hit = cancelHit(tag, sessionId, readPath(record, tonumber(field[5])), id, run)
    if hit and state == 'running' then
      running = running + 1
    elseif hit then
      local control, family = writeRunLeftovers(tag, id, record, tonumber(field[6] or '0'), tonumber(field[7] or '0'))
      redis.call('ZREM', tag .. ':run:' .. field[4], id)
      local ends = field[3] == '1' or state == 'queued'
      local history = tonumber(field[8] or '0')
      local changes = { 'state', hit == 'whole' and 'terminal' or 'idle', 'wait', 'any', 'open', '0', 'fsm', 'Idle', 'token', '',
        'control', digits(control), 'family', digits(family) }
      if ends then
        redis.call('RPUSH', record .. ':log', entry)
        history = history + 1
        local more = { 'run', digits(tonumber(run) + 1), 'history', digits(history), 'version', digits(tonumber(field[10] or '0') + 1),
          'children', '0', 'calls', '0' }
        for place = 1, #more do changes[#changes + 1] = more[place] end
        redis.call('XADD', eventsKey, 'MAXLEN', '~', eventsKept, '*', 'session', sessionId, 'worker', id, 'events', '[["worker.cancelled"]]')
      end
      redis.call('HSET', record, unpack(changes))
      if id == facts[1] and ends then rootEnded = { run = run, position = digits(history - 1) } end
    end
  end
end
if rootEnded then redis.call('HSET', sessionKeyName, 'result:' .. rootEnded.run, 'cancelled ' .. rootEnded.position) end
if count == batch then return { digits(from + batch), digits(running), '' } end
if running > 0 then return { 'wait', '0', '' } end

-- The whole pass found nothing running: the cancel is finished.
redis.call('DEL', cancelledKey)
redis.call('SREM', cancellingKey, sessionId)
if facts[3] and facts[2] == 'cancelling' then
  redis.call('HSET', sessionKeyName, 'state', 'cancelled', 'finished', digits(now))
  redis.call('XADD', eventsKey, 'MAXLEN', '~', eventsKept, '*', 'session', sessionId, 'worker', facts[1], 'events',
    '[["session.cancelled"]]', 'ended', 'cancelled')
end
return { 'done', '0', '' }
