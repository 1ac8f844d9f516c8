--[[ finish – ends what a cancel stopped and no turn is running: idle, queued and parked workers, in batches. Those whose kind has onCancel it queues.
Why a script   a worker must leave the run queue, its timers and its wait at once, and only if no node holds it.
KEYS[1] root      hash               KEYS[2] cancelled set               KEYS[3] cancelling set
KEYS[4] workers   list               KEYS[5] timers   zset   declared    KEYS[6] events   stream
ARGV[1] header    json:
  sessionId        whose cancel is to be finished
  from             position in the list of workers; 0 starts a pass
  batch            how many workers are looked at
  running          workers so far in this pass that a later one must look at: running, damaged, moved on
  cancelCount      as the first batch of this pass answered it
  agents           those whose open calls were looked for, each:
    id             of the worker
    version        at which they were looked for
    entries        how many texts are its
  seed             names of new wake-ups begin with it
  wakeupMs         how long a wake-up counts as sent
ARGV[2] entry     history entry of a cancelled run, json
ARGV[3] texts     of each agent its history entries, one after the other
Returns {next, running, cancelCount, agents, wakeups}: where the next batch begins; or "done" when the cancel is finished; or "wait" when workers
        still run, or something was cancelled while this pass was under way. agents: {id, version} of each whose history may hold
        calls without results, and which was left as it is: this batch is to be sent again, with their answers. One that has moved
        on since is left to the next pass, like one that runs.
Builds  T:w:<id> and its keys and those of its parent, T:run of their pools, T:clocks, T:kind-queues, T:s:<session>:results, reasons, held and quiet; T:ends; T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake
        and T:wake of their pools; T:nodes, T:pools; T:asks and T:ask:<id> of what was asked.
Events  worker.cancelled for each, session.cancelled at the end of a session that is cancelled, and of a job whose run is. ]]
local rootKey, cancelledKey, cancellingKey, workersKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6]
local header, entry = readHeader(ARGV[1]), ARGV[2]
local texts, cursor = ARGV, 3

local tag = tagOf(rootKey)
local now = nowMs()
checkTexts(header, 'sessionId', 'cancelCount', 'seed')
checkNumbers(header, 'from', 'batch', 'running', 'wakeupMs')
checkLast(entry)
local sessionId, from, batch, running, cancelCount = header.sessionId, header.from, header.batch, header.running, header.cancelCount
checkSort('hash', rootKey, sessionKey(tag, sessionId) .. ':results', sessionKey(tag, sessionId) .. ':reasons')
checkSort('list', workersKey)
checkSort('set', cancelledKey, cancellingKey)
checkSort('zset', tag .. ':timers', tag .. ':asks', endsKeyOf(tag))
local state = sessionState(tag, sessionId)
if not state then
  redis.call('SREM', cancellingKey, sessionId)
  return { 'done', '0', '0', {}, '' }
end
-- How often something of this session was cancelled so far.
local cancelCountNow, paused = unpack(redis.call('HMGET', rootKey, 'cancelCount', 'paused'))
cancelCountNow = cancelCountNow or atStart.cancelCount
local heldKey, quietKey = heldKeyOf(tag, sessionId), quietKeyOf(tag, sessionId)
if from == 0 then cancelCount = cancelCountNow end
local answers, answered = {}, listOf(header, 'agents')
for index = 1, #answered do
  local agent = answered[index]
  checkTexts(agent, 'id', 'version')
  checkNumbers(agent, 'entries')
  if cursor + agent.entries - 1 > #texts then error('the texts should be as many as the agents have', 0) end
  answers[agent.id] = { version = agent.version, from = cursor, to = cursor + agent.entries - 1 }
  cursor = cursor + agent.entries
end
-- Of a session that has ended only what still goes on is cancelled: its detached workers. The others stay as they ended.
local hasEnded = state ~= 'active' and state ~= 'cancelling'
-- How many inputs stay behind the first `gone` ones, and how many go with these: those that a run took before their turn.
local function readLeft(recordKey, record, gone)
  local length = lengthOf(recordKey .. laneKeys.inbox)
  while record.steered and gone < length and redis.call('LINDEX', recordKey .. laneKeys.inbox, digits(gone)) == '' do gone = gone + 1 end -- guard: what a run took before its turn queues no worker
  return length - gone, gone
end
local function isInRun(record)
  return record.open == '1' or record.status == 'queued' or record.wait == 'retry' or record.wait == 'start' -- guard: a child that waits to start is cancelled with a result for its parent
end
-- A worker of this session and whether it is cancelled, the message that its run takes with it, and the result for its parent; an error when something of it cannot be read or written.
local function readCancelled(id, recordKey)
  local record = readRecord(recordKey)
  if not record.status then return record, nil end
  checkRecord(recordKey, record)
  -- It stands in the list of this session, whatever its record says: one that names another would go on, and the cancel be over.
  record.path1 = record.path1 and rootOf(sessionId) .. string.sub(record.path1, 37) -- guard: a cancel ends all that its session lists
  local rests = record.status == 'terminal' or (hasEnded and record.status == 'idle') -- guard: an ended worker stays as it ended
  local hit = not rests and readCancellation(tag, record, id)
  if hit and record.status ~= 'running' then
    checkSort('list', recordKey .. ':log', recordKey .. laneKeys.signals, recordKey .. laneKeys.results)
    checkSort('hash', recordKey .. ':timers')
    checkSort('set', recordKey .. ':asks')
    return record, hit, readDropped(recordKey, record, hit), isInRun(record) and planCancelled(tag, id, record, now)
  end
  return record, hit
end
local root = rootOf(sessionId)
local ids = redis.call('LRANGE', workersKey, from, from + batch - 1)
local count = #ids
if from == 0 then table.insert(ids, 1, root) end

local before, agents, woke = running, {}, newWakes()
for index = 1, #ids do
  local id = ids[index]
  local recordKey = workerKey(tag, id)
  local fine, record, hit, dropped, report = pcall(readCancelled, id, recordKey)
  if not fine then
    -- Damaged: the cancel is not finished before it is mended, and goes on with the others.
    if not damageOf(record) then error(record, 0) end
    record, hit, running = {}, nil, running + 1
  end
  -- Within a run its history may hold calls without results: those are answered in this script.
  local isAgent = hit and record.open == '1' and isTally(record.data)
  local answer = isAgent and answers[id] or { version = record.version, from = 1, to = 0 }
  if hit and record.status == 'running' then -- guard: finish leaves running turns alone
    running = running + 1
  elseif hit and isInRun(record) and awaitsLastStep(record) then -- guard: a run that has begun gets its last step from a node
    running = running + 1
    local isHeld = paused and redis.pcall('ZREM', heldKey, id) == 1 -- guard: a pause holds up no last step
    if record.status ~= 'queued' or isHeld then
      writeWokenRecord(tag, { id = id, session = sessionId, pool = record.pool or atStart.pool, root = id == root and record }, now, woke)
    end
  elseif isAgent and (not answers[id] or answer.version ~= record.version) then -- guard: open calls of an agent that nobody runs | finish leaves an agent that has moved on
    if #answered == 0 then agents[#agents + 1] = { id, record.version } else running = running + 1 end
  elseif hit then
    local signals, results = writeRunLeftovers(tag, id, record, (record.pendingCalls or atStart.pendingCalls) ~= '', now)
    -- One that stays in a run queue it cannot be taken from is passed over by claims.
    leaveQueue(tag, record.pool or atStart.pool, record.kind, id)
    if paused then redis.pcall('ZREM', heldKey, id) end -- guard: a cancel ends what a pause keeps
    local left, gone = 0, 0
    if hit == 'own' then left, gone = readLeft(recordKey, record, dropped and 1 or 0) end
    local status = hit == 'whole' and 'terminal' or left > 0 and 'queued' or 'idle' -- guard: a worker whose run was cancelled goes on with its mail
    local changes = { 'status', status, 'wait', atStart.wait, 'open', atStart.open,
      'runState', atStart.runState, 'token', atStart.token,
      'signals', digits(tonumber(record.signals or atStart.signals) + signals), 'results', digits(tonumber(record.results or atStart.results) + results),
      'pendingCalls', atStart.pendingCalls, 'signalsOpen', atStart.signalsOpen, 'attempt', atStart.attempt }
    if record.steps then changes[#changes + 1], changes[#changes + 2] = 'steps', atStart.steps end
    if record.steered then changes[#changes + 1], changes[#changes + 2] = 'steered', atStart.steered end
    if record.atOnce then changes[#changes + 1], changes[#changes + 2] = 'atOnce', atStart.atOnce end -- guard: no child of the next run waits for those of a cancelled one
    if isInRun(record) then
      for index = answer.from, answer.to do redis.call('RPUSH', recordKey .. ':log', texts[index]) end
      local last = digits(redis.call('RPUSH', recordKey .. ':log', entryWith(entry, dropped)) - 1)
      local run = record.run or atStart.run
      -- It counts as a commit, but as that of nobody: a turn that sends its last one again, or another, is answered as it was before.
      local commit = (record.commit or '0::0') .. ':' .. digits(tonumber(record.version or 0) + 1)
      local more = { 'run', digits(tonumber(run) + 1), 'commit', commit, 'calls', atStart.calls }
      for index = 1, #more do changes[#changes + 1] = more[index] end
      writeEvents(eventsKey, { sessionId .. ' ' .. id, '[["worker.cancelled"]]' })
      if dropped then
        for _ = 1, gone do redis.call('LPOP', recordKey .. laneKeys.inbox) end
        redis.call('HINCRBY', recordKey, 'inbox', gone)
      end
      local endsSession = id == root and hit == 'own' and record.mode ~= 'conversation' and left == 0 -- guard: a job whose run is cancelled while nobody runs it ends
      if endsSession then
        changes[#changes + 1] = 'ended'
        changes[#changes + 1] = 'cancelled ' .. digits(now) .. ' ' .. run .. ' ' .. last
        writeEnd(tag, sessionId, now) -- guard: a job whose run was cancelled while nobody ran it has ended
        writeEvents(eventsKey, { sessionId, '[["session.cancelled",' .. last .. ']]' })
      elseif id == root then
        redis.call('HSET', sessionKey(tag, sessionId) .. ':results', run, 'cancelled ' .. last)
      end
    end
    redis.call('HSET', recordKey, unpack(changes))
    if report then writeMail(tag, report, now, woke) end -- guard: the parent of a worker that was cancelled while nobody ran it gets a result
    if status == 'queued' then writeWokenRecord(tag, { id = id, session = sessionId, pool = record.pool or atStart.pool, root = id == root and record }, now, woke) end
  end
end
writeStandings(tag, woke.standings)
local wakeups = next(woke.pools) and writeWakeupsOf(tag, woke.pools, header.seed, now, header.wakeupMs) or ''
if #agents > 0 then return { digits(from), digits(before), cancelCount, agents, wakeups } end
if count == batch then return { digits(from + batch), digits(running), cancelCount, {}, wakeups } end
-- Workers that this pass has looked at may have been cancelled since: then another pass is needed.
if running > 0 or cancelCount ~= cancelCountNow then return { 'wait', '0', cancelCount, {}, wakeups } end -- guard: finish keeps the cancels that came during its pass

-- The whole pass found nothing running: the cancel is finished.
redis.call('DEL', cancelledKey, sessionKey(tag, sessionId) .. ':reasons')
redis.call('SREM', cancellingKey, sessionId)
if state == 'cancelling' then
  if paused then
    redis.call('DEL', heldKey, quietKey)
    redis.call('HDEL', rootKey, 'paused')
  end
  redis.call('HSET', rootKey, 'ended', 'cancelled ' .. digits(now))
  writeEnd(tag, sessionId, now) -- guard: a session that was cancelled has ended
  writeEvents(eventsKey, { sessionId, '[["session.cancelled"]]' })
end
return { 'done', '0', cancelCount, {}, wakeups }
