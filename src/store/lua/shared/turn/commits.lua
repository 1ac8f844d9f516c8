--[[ commits – what one turn records, and its end. Commits of one script know nothing of each other. They share a batch: it has their time, and after
the last commit it does what is done once for all (batches.lua). ]]

-- Notes that a field of the record is to become this value.
local function change(turn, name, value)
  if (turn.record[name] or atStart[name]) ~= value then
    local changes = turn.changes
    changes[#changes + 1] = name
    changes[#changes + 1] = value
  end
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
  turn.last = commit.outcome and digits(last)
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

-- Are there inputs that steer the worker and that its turn has not seen?
local function hasUnseen(steered, seen)
  for position in string.gmatch(steered or '', '%d+') do
    if tonumber(position) >= seen then return true end
  end
  return false
end

-- Takes the mail that was received out of its lanes, by LTRIM: LPOP would give the script a copy of each. An input that is put aside goes to the dead
-- letters, with the evidence.
local function writeTaken(tag, turn, batch)
  local commit, recordKey, inboxKey = turn.commit, turn.recordKey, turn.inboxKey
  local inputsConsumed, signalsConsumed = commit.inputsConsumed or 0, commit.signalsConsumed or 0
  local resultsConsumed, results = commit.resultsConsumed, turn.results
  if signalsConsumed > 0 then redis.call('LTRIM', recordKey .. laneKeys.signals, digits(signalsConsumed), '-1') end
  if commit.dead then
    -- Without such an input the letter holds the evidence alone: a recorded step, and no message, was being worked on.
    local letter = { 'session', turn.session, 'worker', commit.worker, 'evidence', commit.dead }
    if inputsConsumed > 0 then letter[7], letter[8] = 'mail', redis.call('LINDEX', inboxKey, 0) or '' end
    local id = writeLetter(tag, letter, commit.deadKept)
    if hasEndpoints(tag) then writeNotice(tag, commit.worker .. ':notify:' .. id, timeOf(batch)) end -- guard: endpoints get a dead letter
  end
  if turn.record.steered then writeInputsTaken(turn, inputsConsumed) elseif inputsConsumed > 0 then redis.call('LTRIM', inboxKey, digits(inputsConsumed), '-1') end
  if #resultsConsumed > 0 then
    -- Results are consumed in call order, which need not be the order they came in: those in the middle are emptied, and go when
    -- all before them have gone.
    local ahead, middle = 0, {}
    for index = 1, #resultsConsumed do middle[resultsConsumed[index] - results] = true end
    while middle[ahead] do
      middle[ahead] = nil
      ahead = ahead + 1
    end
    for index in pairs(middle) do redis.call('LSET', recordKey .. laneKeys.results, index, '') end
    if #commit.largeTaken > 0 then redis.call('HDEL', largeKeyOf(recordKey), unpack(commit.largeTaken)) end -- guard: a large result is removed when it was received
    if ahead > 0 then
      redis.call('LTRIM', recordKey .. laneKeys.results, digits(ahead), '-1')
      results = results + ahead
      while redis.call('LINDEX', recordKey .. laneKeys.results, '0') == '' do
        redis.call('LPOP', recordKey .. laneKeys.results)
        results = results + 1
      end
    end
  end
  turn.results = results
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

-- Writes children, sends, timers and asks. What they change of the session is added to `ofRoot`.
local function writeConcerned(tag, turn, batch)
  local others, ofRoot, commit = turn.others, turn.ofRoot, turn.commit
  local worker, spawns, timers = commit.worker, commit.spawns, commit.timers
  if #others.born > 0 or #others.mails > 0 or #others.out > 0 then
    local toItself
    toItself, turn.assigned = writeOthers(tag, turn.own, others, ofRoot, timeOf(batch), turn.woke)
    turn.inboxLeft = turn.inboxLeft + toItself
  end
  local spent = others.spent
  if spent then
    ofRoot[#ofRoot + 1] = 'spent'
    ofRoot[#ofRoot + 1] = spent
  end
  if #spawns > 0 and not commit.outcome then change(turn, 'calls', spawns[#spawns].call) end
  if turn.own and turn.own.atOnce and not commit.outcome then
    writeWaiting(turn.recordKey, turn.own.waiting)
    change(turn, 'atOnce', turn.own.atOnce)
  end
  if not commit.outcome then
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
end

-- The cancel does not know all workers that it is to end: sweeps look at each worker of the session once.
local function lookAtAll(turn)
  turn.ofRoot[#turn.ofRoot + 1] = 'endFrom'
  turn.ofRoot[#turn.ofRoot + 1] = '0'
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
  turn.ofRoot[#turn.ofRoot + 1] = 'cancelCount'
  turn.ofRoot[#turn.ofRoot + 1] = turn.cancelCount
  lookAtAll(turn) -- guard: a step that cancels children has all of its session looked at
  redis.call('SADD', tag .. ':cancelling', turn.session)
  redis.pcall('PUBLISH', tag .. ':cancel-notices', turn.session)
end

-- Writes the end of a run: its result went to the parent, or goes to the session; what still runs below it is cancelled.
local function writeRunEnd(tag, turn, batch)
  local commit, record, session, run, ofRoot, last = turn.commit, turn.record, turn.session, turn.run, turn.ofRoot, turn.last
  local worker, outcome, isAwaiting = commit.worker, commit.outcome, (commit.pendingCount or 0) > 0
  change(turn, 'run', digits(tonumber(run) + 1))
  if record.calls then change(turn, 'calls', atStart.calls) end
  if record.atOnce then change(turn, 'atOnce', atStart.atOnce) end -- guard: no child of the next run waits for those of the last
  if record.gates then
    local gates, isAwaited = writeLeft(tag, worker, record, timeOf(batch))
    change(turn, 'gates', gates)
    turn.opensGate = isAwaited -- guard: a commit answers that somebody waits for the place of its run
  end
  if record.onCancel and not commit.wait then change(turn, 'onCancel', digits(tonumber(run) + 1)) end -- guard: the next run of the same turn gets a last step too
  local signalsLeft, resultsLeft = writeRunLeftovers(tag, worker, record, isAwaiting, timeOf(batch))
  turn.signals, turn.results = turn.signals + signalsLeft, turn.results + resultsLeft
  if isAwaiting then
    redis.call('SADD', sessionKey(tag, session) .. ':cancelled', worker .. ':' .. run) -- guard: children of an ended run
    ofRoot[#ofRoot + 1] = 'cancelCount'
    ofRoot[#ofRoot + 1] = digits(tonumber(turn.cancelCount or atStart.cancelCount) + 1)
    local open = commit.openChildren
    if #open == 0 then lookAtAll(turn) end -- guard: children of an ended run are looked for if nobody names them
    for from = 1, #open, 1000 do
      redis.call('SADD', endingKeyOf(tag, session), unpack(open, from, math.min(from + 999, #open))) -- guard: children of an ended run that are named are looked at
    end
    redis.call('SADD', tag .. ':cancelling', session)
    redis.pcall('PUBLISH', tag .. ':cancel-notices', session) -- guard: nodes learn of cancelled children of an ended run
  end
  if not record.parent then
    if turn.endsSession and turn.inboxLeft <= 0 then
      turn.ended = outcome
      change(turn, 'ended', outcome .. ' ' .. digits(timeOf(batch)) .. ' ' .. run .. ' ' .. last)
    else
      redis.call('HSET', sessionKey(tag, session) .. ':results', run, outcome .. ' ' .. last)
    end
  end
end

-- Writes the end of the turn: is a message there that wakes the worker? Then it is queued again, in this same script.
local function writeTurnEnd(tag, turn, batch)
  local commit, record, recordKey, cancelled, ended = turn.commit, turn.record, turn.recordKey, turn.cancelled, turn.ended
  local worker, open, wait, outcome = commit.worker, commit.open, commit.wait, commit.outcome
  local results, inboxLeft = turn.results, turn.inboxLeft
  local again = false
  -- The field onCancel already names the next run, which this turn did not begin.
  if wait == 'any' and not (open or outcome) and awaitsLastStep(record) then change(turn, 'onCancel', digits(tonumber(turn.run) - 1)) end -- guard: a run that has not begun gets no last step
  if cancelled == 'whole' then
    -- The worker was cancelled for good: its mail is kept for reading, and nothing of it runs again.
    wait = 'any'
  elseif wait == 'retry' then
    redis.call('ZADD', tag .. ':timers', timeOf(batch) + (commit.retryMs or 0), worker .. ':retry')
  elseif wait == 'again' then
    again, wait = not ended, 'any'
  elseif wait == 'any' then
    again = not ended and inboxLeft > 0 -- guard: end-of-turn test of the inbox lane
    if not again and open then again = redis.call('EXISTS', recordKey .. laneKeys.signals, recordKey .. laneKeys.results) > 0 end
  else
    again = redis.call('EXISTS', recordKey .. laneKeys.signals) == 1 -- guard: end-of-turn test of the signals lane
    if not again then again = hasUnseen(turn.steered, commit.steersSeen or 0) end -- guard: end-of-turn test of inputs that steer a run
    if not again and turn.waitsForOne then
      -- An ended run may have dropped results that this turn has not seen: then all results that are there are unseen.
      local seen = math.max(commit.resultsSeen or 0, results)
      local laneKey, most = recordKey .. laneKeys.results, countAwaited(wait)
      if most and results > (commit.resultsSeen or 0) then
        -- The node does not know how many of those there were.
        most = math.max(most, results + (commit.pendingCount or 0)) -- guard: results that an ended run dropped are none that a later run waits for
        wait = 'results:' .. digits(most)
      end
      -- For a wait that counts results, none is read: there may be thousands.
      local length = most and redis.call('LLEN', laneKey)
      if most then again = length > seen - results and results + length >= most end -- guard: end-of-turn test of results that are counted
      local unseen = most and {} or redis.call('LRANGE', laneKey, digits(seen - results), '-1')
      for index = 1, #unseen do
        if endsWait(wait, 'results', unseen[index], seen + index) then again = true end -- guard: end-of-turn test of the results lane
      end
    end
  end
  local average = averageTurn(turn.turnUs, commit.turnMs or 0)
  if average then -- guard: a session that has long turns stands behind others for longer
    local ofRoot = turn.ofRoot
    ofRoot[#ofRoot + 1] = 'turnUs'
    ofRoot[#ofRoot + 1] = average
  end
  -- Starts without a commit are the difference between the epochs of the token and of the last commit: those that stay counted stay in the token.
  change(turn, 'token', turn.startsKept > 0 and digits(epochOf(record) + turn.startsKept) .. ':' or atStart.token)
  change(turn, 'wait', wait) -- guard: the record says what a turn that ended waits for
  batch.ended[#batch.ended + 1] = worker
  if again then
    change(turn, 'status', 'queued')
    change(turn, 'queuedAt', digits(timeOf(batch)))
    writeWoken(tag, { id = worker, session = turn.session, pool = turn.pool, root = not record.parent and record }, turn.woke)
  else
    change(turn, 'status', cancelled == 'whole' and 'terminal' or (open or wait == 'retry') and 'parked' or 'idle')
  end
  -- The conversation was closed between its last run and the end of this turn: `close` ends only a conversation that rests. Only `close` writes this
  -- mode: a root that was created as a job has none.
  if record.mode == 'job' and not (again or outcome or cancelled or open) and wait == 'any' and not (record.cancel or record.ended) then -- guard: a closed conversation ends with the turn that it was closed in
    turn.ended = 'completed'
    change(turn, 'ended', turn.ended .. ' ' .. digits(timeOf(batch)))
  end
end

-- Keeps what the node says happened, and after it the end of the session, if it ended: one entry tells of all turns of the script.
local function tellEvent(turn, batch)
  local commit, ended = turn.commit, turn.ended
  local event = commit.event
  if ended then
    local note = '["session.' .. ended .. (commit.outcome and ('",' .. turn.last) or '"') .. ']]'
    event = (event and (string.sub(event, 1, -2) .. ',') or '[') .. note
  end
  if not event then return end
  local facts = batch.events
  facts[#facts + 1] = turn.record.parent and (turn.session .. ' ' .. commit.worker) or turn.session
  facts[#facts + 1] = event
end

-- Notes what this slot does next: it claims, once all commits of the script are written (`finishBatch`); or it leaves, and its wake-up goes.
local function writeSlotEnd(tag, turn, batch, answer)
  local commit, pool = turn.commit, turn.pool
  if commit.claim then
    batch.claims[#batch.claims + 1] = { claim = commit.claim, answer = answer }
  elseif (commit.leave or '') ~= '' then
    redis.pcall('ZREM', tag .. ':wakeups:' .. pool, commit.leave)
    if commit.wasBusy then redis.pcall('ZREM', tag .. ':busy:' .. pool, commit.leave) end
    batch.pools[pool] = true -- guard: wake-up rule after a turn that leaves
  end
end

-- Does the end of the run drop so many timers and asks that several such ends would hold Redis for too long?
local function dropsMany(turn)
  local signalsMost = 50
  return turn.commit.outcome and (tonumber(turn.record.signalsOpen or atStart.signalsOpen) or 0) > signalsMost
end

-- Writes the commit of one turn. Returns its answer, which gets the slot's claim once all commits of the script are written.
local function commitTurn(tag, turn, batch)
  local commit, recordKey = turn.commit, turn.recordKey
  local instead = guardTurn(tag, turn, batch) or planTurn(tag, turn, batch)
  if instead then return instead end
  if batch.last and dropsMany(turn) then return { 'failed' } end -- guard: a run that drops many timers and asks ends in a script of its own
  local record, inputsConsumed = turn.record, commit.inputsConsumed or 0
  local version = digits(commit.version + 1)
  turn.changes = { 'commit', commit.token .. ':' .. digits(commit.sequence) .. ':' .. version }
  turn.woke = newWakes(batch.pools)
  -- What concerns the whole session is written to the record of its root.
  turn.ofRoot = record.parent and {} or turn.changes
  local failed = writeEntries(turn)
  if failed then return failed end
  turn.signals = tonumber(record.signals or atStart.signals) + (commit.signalsConsumed or 0)
  turn.results = tonumber(record.results or atStart.results)
  writeTaken(tag, turn, batch)
  writeState(turn)
  if #commit.costs > 0 then
    change(turn, 'cost', turn.cost)
    turn.ofRoot[#turn.ofRoot + 1] = 'sessionCost'
    turn.ofRoot[#turn.ofRoot + 1] = turn.sessionCost
    countUsage(batch.usage, record.kind, commit.costs)
  end
  writeConcerned(tag, turn, batch)
  writeCancels(tag, turn)
  if commit.outcome then writeRunEnd(tag, turn, batch) end
  if turn.signals > 0 then change(turn, 'signals', digits(turn.signals)) end
  if turn.results > 0 then change(turn, 'results', digits(turn.results)) end
  local inputsGone = turn.inputsGone or inputsConsumed
  if inputsGone > 0 then change(turn, 'inbox', digits(tonumber(record.inbox or atStart.inbox) + inputsGone)) end
  if commit.wait then writeTurnEnd(tag, turn, batch) end
  if turn.ended then writeEndNotices(tag, turn.session, timeOf(batch), record.notify, batch.listens) end
  if record.wakeups then change(turn, 'wakeups', atStart.wakeups) end
  redis.call('HSET', recordKey, unpack(turn.changes))
  if record.parent and #turn.ofRoot > 0 then redis.call('HSET', turn.rootKey, unpack(turn.ofRoot)) end -- guard: an ended run of a child is marked at the root
  writeQueues(tag, turn.woke)
  tellEvent(turn, batch)
  local answer = { 'ok', version, '', false, turn.others.spent or turn.spentBefore, turn.caps, turn.assigned or nil }
  if turn.paused then setItem(answer, 8, 'paused') end -- guard: pause check of commit
  if turn.approval then setItem(answer, 9, turn.approval) end -- guard: a commit answers what the session says of approvals
  addSteered(answer, turn.steered)
  if turn.opensGate then setItem(answer, 11, 'opens') end
  batch.last, batch.lastKey = answer, recordKey
  if turn.ended then
    local ends = batch.ends
    ends[#ends + 1] = digits(timeOf(batch))
    ends[#ends + 1] = turn.session
  end
  if commit.wait then writeSlotEnd(tag, turn, batch, answer) end
  return answer
end
