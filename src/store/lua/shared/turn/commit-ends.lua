--[[ commit-ends – what a commit writes of ends: of a run, of a turn, of what its slot does, and of a session. ]]

-- Writes the end of a run: its result went to the parent, or goes to the session; what still runs below it is cancelled.
local function writeRunEnd(tag, turn, batch)
  local commit, record, session, run, endPosition = turn.commit, turn.record, turn.session, turn.run, turn.endPosition
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
    changeRoot(turn, 'cancelCount', digits(tonumber(turn.cancelCount or atStart.cancelCount) + 1))
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
      change(turn, 'ended', outcome .. ' ' .. digits(timeOf(batch)) .. ' ' .. run .. ' ' .. endPosition)
    else
      redis.call('HSET', sessionKey(tag, session) .. ':results', run, outcome .. ' ' .. endPosition)
    end
  end
end

-- Are there inputs that steer the worker and that its turn has not seen?
local function hasUnseen(steered, from)
  for position in string.gmatch(steered or '', '%d+') do
    if tonumber(position) >= from then return true end
  end
  return false
end

-- Has a result come that the turn has not seen and that ends this wait? Returns the wait as well: a wait for a number of results waits for as many more
-- as an ended run has dropped.
local function endsByResults(turn, wait)
  local commit, results, laneKey, most, ends = turn.commit, turn.results, turn.recordKey .. laneKeys.results, countAwaited(wait), false
  local known = commit.resultsSeen or 0
  -- An ended run may have dropped results that this turn has not seen: then all results that are there are unseen.
  local seen = math.max(known, results)
  if most then
    if results > known then
      -- The node does not know how many results were dropped.
      most = math.max(most, results + (commit.pendingCount or 0)) -- guard: results that an ended run dropped are none that a later run waits for
      wait = 'results:' .. digits(most)
    end
    -- No result is read: there may be thousands.
    local length = redis.call('LLEN', laneKey)
    ends = length > seen - results and results + length >= most -- guard: end-of-turn test of results that are counted
    return ends, wait
  end
  local unseen = redis.call('LRANGE', laneKey, digits(seen - results), '-1')
  for index = 1, #unseen do
    if endsWait(wait, 'results', unseen[index], seen + index) then ends = true end -- guard: end-of-turn test of the results lane
  end
  return ends, wait
end

-- Does the worker go on at once, because the turn says so or because mail is there that ends its wait? Returns as well what the record says it waits for.
local function goesOnAtOnce(turn)
  local commit, recordKey, wait, again = turn.commit, turn.recordKey, turn.commit.wait, false
  -- A worker that was cancelled for good keeps its mail for reading, and nothing of it runs again.
  if turn.cancelled == 'whole' then return false, 'any' end
  if wait == 'retry' then return false, wait end
  if wait == 'again' then return not turn.ended, 'any' end
  if wait == 'any' then
    again = not turn.ended and turn.inboxLeft > 0 -- guard: end-of-turn test of the inbox lane
    if not again and commit.open then again = redis.call('EXISTS', recordKey .. laneKeys.signals, recordKey .. laneKeys.results) > 0 end
    return again, wait
  end
  again = redis.call('EXISTS', recordKey .. laneKeys.signals) == 1 -- guard: end-of-turn test of the signals lane
  if not again then again = hasUnseen(turn.steered, commit.steersUnseenFrom or 0) end -- guard: end-of-turn test of inputs that steer a run
  if not again and turn.awaitsResults then return endsByResults(turn, wait) end
  return again, wait
end

-- Writes the end of the turn. A worker that goes on at once is queued in this same script.
local function writeTurnEnd(tag, turn, batch)
  local commit, record, cancelled = turn.commit, turn.record, turn.cancelled
  local worker, open, outcome = commit.worker, commit.open, commit.outcome
  local again, wait = goesOnAtOnce(turn)
  -- The field onCancel already names the next run, which this turn did not begin.
  if commit.wait == 'any' and not (open or outcome) and awaitsLastStep(record) then change(turn, 'onCancel', digits(tonumber(turn.run) - 1)) end -- guard: a run that has not begun gets no last step
  if wait == 'retry' then redis.call('ZADD', tag .. ':timers', timeOf(batch) + (commit.retryMs or 0), worker .. ':retry') end
  local average = averageTurn(turn.turnUs, commit.turnMs or 0)
  if average then changeRoot(turn, 'turnUs', average) end -- guard: a session that has long turns stands behind others for longer
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
