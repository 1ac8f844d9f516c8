--[[ commit-steps – what a commit writes of its steps: entries, mail that was received, the state, and what the steps asked for. ]]

-- Notes that a field of the record is to become this value.
local function change(turn, name, value)
  if (turn.record[name] or atStart[name]) ~= value then
    local changes = turn.changes
    changes[#changes + 1] = name
    changes[#changes + 1] = value
  end
end

-- Notes that a field of the root's record is to become this value: it says what concerns the whole session.
local function changeRoot(turn, name, value)
  local ofRoot = turn.ofRoot
  ofRoot[#ofRoot + 1] = name
  ofRoot[#ofRoot + 1] = value
end

-- Writes the entries. This is the first write of a turn, so it may fail, also because Redis takes no writes just now. If the key of the history is no
-- list, the error names it. Returns the error, if there is one.
local function writeEntries(turn)
  local commit, last, logKey = turn.commit, 0, turn.recordKey .. ':log'
  local to = commit.texts + commit.entries - 1
  for from = commit.texts, to, 1000 do
    local length = redis.pcall('RPUSH', logKey, unpack(turn.texts, from, math.min(from + 999, to)))
    if type(length) == 'table' then
      checkSort('list', logKey)
      return length
    end
    last = length - 1
  end
  turn.endPosition = commit.outcome and digits(last)
end

-- Takes inputs out of the inbox of a worker that was steered. An input that a run takes before its turn is emptied where it stands, and goes when all
-- before it have gone: so the first input of the lane is never empty. The other inputs still steer the worker; when its run ends, none does: they
-- wait for the next run like any other input.
local function writeInputsTaken(turn, consumed)
  local record, taken, inboxKey = turn.record, turn.commit.steersTaken, turn.inboxKey
  local from, gone, isTaken, left = tonumber(record.inbox or atStart.inbox), 0, {}, {}
  for index = 1, #taken do
    redis.call('LSET', inboxKey, digits(taken[index] - from), '')
    isTaken[digits(taken[index])] = true
  end
  local head = redis.call('LINDEX', inboxKey, '0')
  while head and (head == '' or consumed > 0) do -- guard: the first input of a lane is never one that was taken
    if head ~= '' then consumed = consumed - 1 end
    redis.call('LTRIM', inboxKey, '1', '-1')
    gone = gone + 1
    head = redis.call('LINDEX', inboxKey, '0')
  end
  turn.inputsGone, turn.inboxLeft = gone, redis.call('LLEN', inboxKey)
  -- Behind an order, which is no run, the next input begins one.
  if not turn.commit.open then isTaken[digits(from + gone)] = true end -- guard: an input that is to begin a run does not steer it
  for position, interrupts in string.gmatch(record.steered or atStart.steered, '(%d+)(!?)') do
    local hasBegun = tonumber(position) < from + gone -- guard: an input that has begun a run does not steer it
    if not (isTaken[position] or hasBegun) then left[#left + 1] = position .. interrupts end -- guard: an input steers a run once
  end
  turn.steered = turn.commit.outcome and atStart.steered or table.concat(left, ' ') -- guard: an input that steered an ended run is an input like any other
  change(turn, 'steered', turn.steered)
end

-- Takes results out of their lane. They are consumed in call order, which need not be the order they came in: those in the middle are emptied, and go
-- when all before them have gone.
local function writeResultsTaken(turn)
  local commit, laneKey, ahead, middle = turn.commit, turn.recordKey .. laneKeys.results, 0, {}
  for index = 1, #commit.resultsConsumed do middle[commit.resultsConsumed[index] - turn.results] = true end
  while middle[ahead] do
    middle[ahead] = nil
    ahead = ahead + 1
  end
  for index in pairs(middle) do redis.call('LSET', laneKey, index, '') end
  if #commit.largeTaken > 0 then redis.call('HDEL', largeKeyOf(turn.recordKey), unpack(commit.largeTaken)) end -- guard: a large result is removed when it was received
  if ahead == 0 then return end
  redis.call('LTRIM', laneKey, digits(ahead), '-1')
  turn.results = turn.results + ahead
  while redis.call('LINDEX', laneKey, '0') == '' do
    redis.call('LPOP', laneKey)
    turn.results = turn.results + 1
  end
end

-- Takes the mail that was received out of its lanes, by LTRIM: LPOP would give the script a copy of each. An input that is put aside goes to the dead
-- letters, with the evidence.
local function writeTaken(tag, turn, batch)
  local commit, recordKey, inboxKey = turn.commit, turn.recordKey, turn.inboxKey
  local inputsConsumed, signalsConsumed = commit.inputsConsumed or 0, commit.signalsConsumed or 0
  if signalsConsumed > 0 then redis.call('LTRIM', recordKey .. laneKeys.signals, digits(signalsConsumed), '-1') end
  if commit.dead then
    -- If no input is put aside, the letter holds only the evidence: the starts worked on a recorded step, not on a message.
    local letter = { 'session', turn.session, 'worker', commit.worker, 'evidence', commit.dead }
    if inputsConsumed > 0 then letter[7], letter[8] = 'mail', redis.call('LINDEX', inboxKey, 0) or '' end
    local id = writeLetter(tag, letter, commit.deadKept)
    if hasEndpoints(tag) then writeNotice(tag, commit.worker .. ':notify:' .. id, timeOf(batch)) end -- guard: endpoints get a dead letter
  end
  if turn.record.steered then writeInputsTaken(turn, inputsConsumed) elseif inputsConsumed > 0 then redis.call('LTRIM', inboxKey, digits(inputsConsumed), '-1') end
  if #commit.resultsConsumed > 0 then writeResultsTaken(turn) end
end

-- How many starts without a commit stay counted? None, unless the turn was released and recorded nothing: nobody knows more of its worker than before.
local function startsKept(turn)
  return turn.commit.isUncounted and turn.commit.wait == 'again' and math.max(0, startsOf(turn.record) - 1) or 0 -- guard: starts stay counted if a turn is released and recorded nothing
end

-- Writes what the step says of the run, and the handler's state. Fields that are mostly empty exist only when they were ever needed.
local function writeState(turn)
  local record, commit, recordKey = turn.record, turn.commit, turn.recordKey
  local isolatedKept = 0
  turn.startsKept = startsKept(turn)
  if turn.startsKept > 0 then
    isolatedKept = tonumber(record.isolated or atStart.isolated)
    if commit.isIsolated then isolatedKept = math.max(0, isolatedKept - 1) end -- guard: an isolated start that recorded nothing is not counted
  end
  change(turn, 'runState', commit.runState)
  change(turn, 'open', commit.open and '1' or '0')
  if record.isolated then change(turn, 'isolated', digits(isolatedKept)) end -- guard: isolated starts count anew after a commit
  if commit.attempt or record.attempt then change(turn, 'attempt', commit.attempt or atStart.attempt) end
  if commit.pendingCalls or record.pendingCalls then change(turn, 'pendingCalls', commit.pendingCalls or atStart.pendingCalls) end
  if commit.steps or record.steps then change(turn, 'steps', digits(commit.steps or 0)) end
  if commit.signalsOpen or record.signalsOpen then change(turn, 'signalsOpen', digits(commit.signalsOpen or 0)) end
  if commit.state then
    if record.data == '@' then redis.call('DEL', recordKey .. ':state') end
    change(turn, 'data', commit.state)
  elseif commit.stateKey then
    redis.call('SET', recordKey .. ':state', commit.stateKey)
    change(turn, 'data', '@')
  end
  if commit.configured then change(turn, 'configured', commit.configured) end
  if record.lastWords and turn.startsKept == 0 then redis.call('HDEL', recordKey, 'lastWords') end -- guard: last words go with a commit
  if commit.failure then
    redis.call('SET', recordKey .. ':failure', commit.failure)
    change(turn, 'failed', '1')
  elseif commit.clearsFailure then
    if record.failed == '1' then redis.call('DEL', recordKey .. ':failure') end
    if record.failed then change(turn, 'failed', atStart.failed) end
  end
end

-- Writes children and messages to others, and what the session has spent then.
local function writeOthersIfAny(tag, turn, batch)
  local others, commit, own, toItself = turn.others, turn.commit, turn.own, 0
  if #others.born > 0 or #others.mails > 0 or #others.out > 0 then
    toItself, turn.assigned = writeOthers(tag, own, others, turn.ofRoot, timeOf(batch), turn.woke)
    turn.inboxLeft = turn.inboxLeft + toItself
  end
  if others.spent then changeRoot(turn, 'spent', others.spent) end
  if commit.outcome then return end
  if #commit.spawns > 0 then change(turn, 'calls', commit.spawns[#commit.spawns].call) end
  if own and own.atOnce then
    writeWaiting(turn.recordKey, own.waiting)
    change(turn, 'atOnce', own.atOnce)
  end
end

-- Writes timers and asks of a run that goes on, and withdraws asks.
local function writeTimersAndAsks(tag, turn, batch)
  local commit, worker, timers = turn.commit, turn.commit.worker, turn.commit.timers
  if commit.outcome then return end
  -- Many timers go in one command: one by one, thousands of them held Redis for more than twice as long.
  for from = 1, #timers, 500 do
    local values, due = {}, {}
    for index = from, math.min(from + 499, #timers) do
      local timer, at = timers[index], 2 * (index - from) + 1
      values[at], values[at + 1] = timer.id, timer.value
      due[at], due[at + 1] = timeOf(batch) + timer.ms, worker .. ':' .. timer.id
    end
    redis.call('HSET', turn.recordKey .. ':timers', unpack(values))
    redis.call('ZADD', tag .. ':timers', unpack(due))
  end
  if #commit.asks > 0 then writeAsks(tag, turn, timeOf(batch)) end
  for index = 1, #commit.withdraws do writeAskEnd(tag, worker, commit.withdraws[index].id, 'withdrawn', timeOf(batch)) end -- guard: a step withdraws the asks that it names
end

-- The cancel does not know all workers that it is to end: sweeps look at each worker of the session once.
local function lookAtAll(turn)
  changeRoot(turn, 'endFrom', '0')
end

-- Cancels children whose results nobody waits for any more, although the run goes on. A result that still comes changes nothing (RESULT-1).
local function writeCancels(tag, turn)
  local cancels, base = turn.commit.cancels, sessionKey(tag, turn.session)
  if #cancels == 0 then return end
  for index = 1, #cancels do
    redis.call('SADD', base .. ':cancelled', cancels[index].id .. ':*') -- guard: a step cancels the children that it names
    redis.call('HSET', base .. ':reasons', cancels[index].id .. ':*', 'a message interrupted the call that waited for it')
  end
  turn.cancelCount = digits(tonumber(turn.cancelCount or atStart.cancelCount) + 1)
  changeRoot(turn, 'cancelCount', turn.cancelCount)
  lookAtAll(turn) -- guard: a step that cancels children has all of its session looked at
  redis.call('SADD', tag .. ':cancelling', turn.session)
  redis.pcall('PUBLISH', tag .. ':cancel-notices', turn.session)
end
