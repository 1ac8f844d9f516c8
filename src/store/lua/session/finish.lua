--[[ finish – ends the cancelled workers that run no turn: idle, queued and parked ones, in batches. Those whose kind has onCancel are queued instead.
Why a script   a worker must leave the run queue, its timers and its wait at once, and only if no node holds it.
KEYS[1] root      hash               KEYS[2] cancelled set               KEYS[3] cancelling set
KEYS[4] workers   list               KEYS[5] timers   zset   declared    KEYS[6] events   stream
ARGV[1] header    json:
  sessionId        whose cancel is to be finished
  batch            how many workers one call looks at; it ends fewer where these have thousands of timers and asks
  agents           agents whose open calls the caller has read; if there are any, this call looks only at them; each:
    id             of the worker
    version        of its record at that time
    entries        how many of the texts belong to it
  seed             names of new wake-ups begin with it
  wakeupMs         how long a wake-up counts as sent
ARGV[2] entry     history entry of a cancelled run, json
ARGV[3] texts     then for each agent its history entries
Returns {next, agents, wakeups}
        next: "more": another call goes on at once; "done": the cancel is finished; "wait": workers still run, or are damaged
        agents: {id, version} of each agent whose history may hold calls without results. It is not ended yet: another call must name it,
        with the results. An agent that has moved on since, or runs, is not ended either.
        While the root has `endFrom`, a call looks at the next workers of the session's list; then at those in T:s:<session>:ending. So it looks
        at the cancelled workers only, and not at every worker that the session ever had.
Builds  T:w:<id> and its keys and those of its parent, T:run of their pools, T:clocks, T:kind-queues, T:s:<session>:results, reasons, ending, held and quiet; T:ends; T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake
        and T:wake of their pools; T:nodes, T:pools; T:asks and T:ask:<id> of what was asked; T:gates, T:gate:<gate> and its in and waiting; T:endpoints:since.
Events  worker.cancelled for each, session.cancelled at the end of a session that is cancelled, and of a job whose run is. ]]
local rootKey, cancelledKey, cancellingKey, workersKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6]
local header, entry = readHeader(ARGV[1]), ARGV[2]
local texts, cursor = ARGV, 3

local tag = tagOf(rootKey)
local now = nowMs()
checkTexts(header, 'sessionId', 'seed')
checkNumbers(header, 'batch', 'wakeupMs')
checkLast(entry)
local sessionId, batch = header.sessionId, header.batch
local root, endingKey = rootOf(sessionId), endingKeyOf(tag, sessionId)
checkSort('hash', rootKey, sessionKey(tag, sessionId) .. ':results', sessionKey(tag, sessionId) .. ':reasons')
checkSort('list', workersKey)
checkSort('set', cancelledKey, cancellingKey, endingKey)
checkSort('zset', tag .. ':timers', tag .. ':asks', endsKeyOf(tag))
local state = sessionState(tag, sessionId)
if not state then
  redis.call('SREM', cancellingKey, sessionId)
  return { 'done', {}, '' }
end
local endFrom, paused = unpack(redis.call('HMGET', rootKey, 'endFrom', 'paused'))
local heldKey, quietKey = heldKeyOf(tag, sessionId), quietKeyOf(tag, sessionId)
local answers, answered = {}, listOf(header, 'agents')
for index = 1, #answered do
  local agent = answered[index]
  checkTexts(agent, 'id', 'version')
  checkNumbers(agent, 'entries')
  if cursor + agent.entries - 1 > #texts then error('the texts should be as many as the agents have', 0) end
  answers[agent.id] = { version = agent.version, from = cursor, to = cursor + agent.entries - 1 }
  cursor = cursor + agent.entries
end
-- If the session has ended, only its detached workers still go on, and only they are cancelled. The others stay as they ended.
local hasEnded = state ~= 'active' and state ~= 'cancelling'
-- How many inputs stay behind the first `gone` ones, and how many go with these: those that a run took before their turn.
local function readLeft(recordKey, record, gone)
  local length = lengthOf(recordKey .. laneKeys.inbox)
  while record.steered and gone < length and redis.call('LINDEX', recordKey .. laneKeys.inbox, digits(gone)) == '' do gone = gone + 1 end -- guard: an input that a run took early queues no worker
  return length - gone, gone
end
local function isInRun(record)
  return record.open == '1' or record.status == 'queued' or scriptWaits[record.wait] -- guard: a child that waits to start is cancelled with a result for its parent | a run that waits at a gate is cancelled with a result for its parent
end
-- A worker of this session and whether it is cancelled, the message that its run takes with it, and the result for its parent. An error if something of it
-- cannot be read or written.
local function readCancelled(id, recordKey)
  local record = readRecord(recordKey)
  if not record.status then return record, nil end
  checkRecord(recordKey, record)
  -- Its session lists it, whatever its record says: a worker whose record names another session would go on when the cancel is over.
  record.path1 = record.path1 and rootOf(sessionId) .. string.sub(record.path1, 37) -- guard: a cancel ends all that its session lists
  local rests = record.status == 'terminal' or (hasEnded and record.status == 'idle') -- guard: an ended worker stays as it ended
  local cancelled = not rests and readCancellation(tag, record, id)
  if cancelled and record.status ~= 'running' then
    checkSort('list', recordKey .. ':log', recordKey .. laneKeys.signals, recordKey .. laneKeys.results)
    checkSort('hash', recordKey .. ':timers')
    checkSort('set', recordKey .. ':asks')
    checkGatesOf(tag, record)
    return record, cancelled, readDropped(recordKey, record, cancelled), isInRun(record) and planCancelled(tag, id, record, now)
  end
  return record, cancelled
end
local function isAwaiting(record)
  return (record.pendingCalls or atStart.pendingCalls) ~= ''
end

-- Ends the run of a cancelled worker: in its history, and for its session if the worker is the root. `waiting`, `gone`: as `readLeft` answers; `answer`:
-- the texts that answer its open calls. Returns what the record is to say of it.
local function endRun(id, record, cancelled, dropped, waiting, gone, answer)
  local recordKey, run = workerKey(tag, id), record.run or atStart.run
  for index = answer.from, answer.to do redis.call('RPUSH', recordKey .. ':log', texts[index]) end
  local last = digits(redis.call('RPUSH', recordKey .. ':log', entryWith(entry, dropped)) - 1)
  -- It counts as a commit that no turn made: a turn that sends its last commit again, or another one, is answered as before.
  local commit = (record.commit or '0::0') .. ':' .. digits(tonumber(record.version or 0) + 1)
  local changes = { 'run', digits(tonumber(run) + 1), 'commit', commit, 'calls', atStart.calls }
  writeEvents(eventsKey, { subjectOf(sessionId, id), '[["worker.cancelled"]]' })
  if dropped then
    redis.call('LTRIM', recordKey .. laneKeys.inbox, digits(gone), '-1')
    redis.call('HINCRBY', recordKey, 'inbox', gone)
  end
  local endsSession = id == root and cancelled == 'own' and record.mode ~= 'conversation' and waiting == 0 -- guard: a job whose run is cancelled while nobody runs it ends
  if endsSession then
    changes[#changes + 1] = 'ended'
    changes[#changes + 1] = 'cancelled ' .. digits(now) .. ' ' .. run .. ' ' .. last
    writeEnd(tag, sessionId, now, record.notify, hasEndpoints(tag)) -- guard: a job whose run was cancelled while nobody ran it has ended
    writeEvents(eventsKey, { sessionId, '[["session.cancelled",' .. last .. ']]' })
  elseif id == root then
    redis.call('HSET', sessionKey(tag, sessionId) .. ':results', run, 'cancelled ' .. last)
  end
  return changes
end

local woke = newWakes()

-- Ends a cancelled worker that no node runs, with all that its run leaves. `dropped`, `report`: as `readCancelled` answers.
local function endWorker(id, record, cancelled, dropped, report, answer)
  local recordKey, pool = workerKey(tag, id), record.pool or atStart.pool
  local signalsGone, resultsGone = writeRunLeftovers(tag, id, record, isAwaiting(record), now)
  -- If a worker cannot be taken from its run queue, it stays there, and claims pass it over.
  leaveQueue(tag, pool, record.kind, id)
  if paused then redis.pcall('ZREM', heldKey, id) end -- guard: a cancel ends workers that a pause holds
  local waiting, gone = 0, 0
  if cancelled == 'own' then waiting, gone = readLeft(recordKey, record, dropped and 1 or 0) end
  local status = cancelled == 'whole' and 'terminal' or waiting > 0 and 'queued' or 'idle' -- guard: a worker whose run was cancelled goes on with its mail
  local changes = { 'status', status, 'wait', atStart.wait, 'open', atStart.open,
    'runState', atStart.runState, 'token', atStart.token,
    'signals', digits(tonumber(record.signals or atStart.signals) + signalsGone), 'results', digits(tonumber(record.results or atStart.results) + resultsGone),
    'pendingCalls', atStart.pendingCalls, 'signalsOpen', atStart.signalsOpen, 'attempt', atStart.attempt }
  if record.steps then changes[#changes + 1], changes[#changes + 2] = 'steps', atStart.steps end
  if record.isolated then changes[#changes + 1], changes[#changes + 2] = 'isolated', atStart.isolated end -- guard: isolated starts of a run that a finish ends are not held against the next one
  if record.lastWords then redis.call('HDEL', recordKey, 'lastWords') end -- guard: last words go with a run that a finish ends
  if record.steered then changes[#changes + 1], changes[#changes + 2] = 'steered', atStart.steered end
  if record.atOnce then changes[#changes + 1], changes[#changes + 2] = 'atOnce', atStart.atOnce end -- guard: no child of the next run waits for those of a cancelled one
  if record.gates then changes[#changes + 1], changes[#changes + 2] = 'gates', (writeLeft(tag, id, record, now)) end
  local ofRun = isInRun(record) and endRun(id, record, cancelled, dropped, waiting, gone, answer) or {}
  for index = 1, #ofRun do changes[#changes + 1] = ofRun[index] end
  redis.call('HSET', recordKey, unpack(changes))
  if report then writeMail(tag, report, now, woke) end -- guard: the parent of a worker that was cancelled while nobody ran it gets a result
  if status == 'queued' then writeWokenRecord(tag, { id = id, session = sessionId, pool = pool, root = id == root and record }, now, woke) end
end

-- Another program may have written over the position: then all of them are looked at.
local from = endFrom and (tonumber(endFrom) or 0)
local ids, reached = {}, false
if #answered > 0 then
  for index = 1, #answered do ids[index] = answered[index].id end
elseif from then
  ids = redis.call('LRANGE', workersKey, from, from + batch - 1)
  reached = #ids == batch and digits(from + batch)
  if from == 0 then table.insert(ids, 1, root) end
else
  ids = redis.call('SRANDMEMBER', endingKey, batch)
end

local left, parents, agents = {}, false, {}
-- How many workers this call has looked at, and how many timers and asks it drops. One worker may have more than `signalsMost`.
local looked, signals, signalsMost = #ids, 0, 500
for index = 1, #ids do
  local id = ids[index]
  local recordKey = workerKey(tag, id)
  local fine, record, cancelled, dropped, report = pcall(readCancelled, id, recordKey)
  if not fine then
    -- The worker is damaged: the cancel cannot be finished until it is mended, and goes on with the others.
    if not damageOf(record) then error(record, 0) end
    record, cancelled, left[id] = {}, nil, true
  end
  -- Within a run its history may hold calls without results: those are answered in this script.
  local isAgent = cancelled and record.open == '1' and isTally(record.data)
  local answer = isAgent and answers[id] or { version = record.version, from = 1, to = 0 }
  if cancelled and record.status == 'running' then -- guard: a finish does not end running turns
    left[id] = true -- guard: a turn that still runs is looked at again
  elseif cancelled and isInRun(record) and awaitsLastStep(record) then -- guard: a run that has begun gets its last step from a node
    left[id] = true
    local isHeld = paused and redis.pcall('ZREM', heldKey, id) == 1 -- guard: a pause does not hold up a last step
    if record.status ~= 'queued' or isHeld then
      writeWokenRecord(tag, { id = id, session = sessionId, pool = record.pool or atStart.pool, root = id == root and record }, now, woke)
    end
  elseif isAgent and (not answers[id] or answer.version ~= record.version) then -- guard: open calls of an agent that nobody runs | a finish does not end an agent that has moved on
    left[id] = true
    if #answered == 0 then agents[#agents + 1] = { id, record.version } end
  elseif cancelled then
    local open = tonumber(record.signalsOpen or atStart.signalsOpen) or 0
    if signals > 0 and signals + open > signalsMost then looked = index - 1 break end -- guard: a finish drops no more timers and asks than a script may
    signals = signals + open
    -- Where all are looked at, children stand behind their parents.
    parents = parents or (isAwaiting(record) and not from)
    endWorker(id, record, cancelled, dropped, report, answer)
  end
  -- The queues are written now, because a parent that got a result here may be ended next, and then leaves its run queue.
  writeQueues(tag, woke)
end
local wakeups = next(woke.pools) and writeWakeupsOf(tag, woke.pools, header.seed, now, header.wakeupMs) or ''
-- If it looks at all workers, the next call begins with the first one that this call has not looked at. The root stands in front of the list and has no
-- position in it.
if from and #answered == 0 and looked < #ids then reached = digits(from + looked - (from == 0 and 1 or 0)) end
local ended = 0
for index = 1, looked do
  if left[ids[index]] then
    redis.call('SADD', endingKey, ids[index]) -- guard: a worker that cannot be ended yet is looked at again
  else
    ended = ended + redis.call('SREM', endingKey, ids[index])
  end
end
-- Its open children are not known by their ids here: they are looked for among all.
if parents then
  redis.call('HSET', rootKey, 'endFrom', '0') -- guard: children of a run that a finish has ended are cancelled too
elseif reached then
  redis.call('HSET', rootKey, 'endFrom', reached)
elseif from and #answered == 0 then
  redis.call('HDEL', rootKey, 'endFrom')
end
-- A call that brought answers is followed by another one, until all workers were looked at.
local looksOn = reached or (from and #answered > 0)
if #agents > 0 or parents or looksOn then return { 'more', agents, wakeups } end
if redis.call('SCARD', endingKey) > 0 then return { (from or ended > 0) and 'more' or 'wait', {}, wakeups } end -- guard: a cancel is finished when all its workers have ended

-- Nothing is left that a cancel has still to end: it is finished.
redis.call('DEL', cancelledKey, sessionKey(tag, sessionId) .. ':reasons')
redis.call('SREM', cancellingKey, sessionId)
if state == 'cancelling' then
  if paused then
    redis.call('DEL', heldKey, quietKey)
    redis.call('HDEL', rootKey, 'paused')
  end
  redis.call('HSET', rootKey, 'ended', 'cancelled ' .. digits(now))
  writeEnd(tag, sessionId, now, redis.call('HGET', rootKey, 'notify'), hasEndpoints(tag)) -- guard: a session that was cancelled has ended
  writeEvents(eventsKey, { sessionId, '[["session.cancelled"]]' })
end
return { 'done', {}, wakeups }
