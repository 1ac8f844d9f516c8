--[[ commit-checks – all that is looked at before the first write of a turn: may its node write, and does what the commit asks for fit what is stored? What
is read and planned here is kept in the table of the turn. ]]

local noOthers = { born = none, mails = none, out = none }

-- Where the parts stand that most answers of a commit do not have. The header of commit.lua lists all parts.
local answerAt = { assigned = 7, paused = 8, approval = 9, steered = 10, opens = 11 }

-- Adds such a part to an answer. Parts before it that are missing become false: Redis would end the answer at the first of them.
local function addPart(answer, name, value)
  for index = answerAt.assigned, answerAt[name] - 1 do answer[index] = answer[index] or false end
  answer[answerAt[name]] = value
end

-- Adds what steers the worker. Nearly all workers have none.
local function addSteered(answer, steered)
  if not steered or steered == atStart.steered then return end
  addPart(answer, 'steered', steered) -- guard: a commit answers what steers the worker
end

-- May this node write for the worker, and has it not written this commit already? If not, returns what is answered instead.
local function guardTurn(tag, turn, batch)
  local commit, recordKey = turn.commit, turn.recordKey
  local worker, token, claim = commit.worker, commit.token, commit.claim
  local record = readRecord(recordKey)
  turn.record, turn.pool = record, record.pool or atStart.pool
  if claim then claim.pool, claim.wakeupMs = turn.pool, batch.wakeupMs end
  local commitToken, commitSequence = string.match(record.commit or '', '^(.*):(%d+)$')
  local repeated = commitToken == token and commit.sequence <= tonumber(commitSequence) -- guard: commit id | sequence of the commit id
  if repeated or record.token ~= token then -- guard: token check of commit
    local before = claim and sameAssignment(tag, claim) or false
    if not repeated then return { 'fenced', before } end
    -- The commit was recorded, whatever became of its root since.
    local fine, _, spent, caps, _, approval = pcall(readShared, tag, worker, record) -- guard: a commit that is sent again reads no key that may be damaged by now
    local assigned = commit.inline and readInline(tag, commit)
    local spentBefore = fine and spent -- guard: a commit that is sent again answers the session's spending
    local answer = { 'ok', record.version, record.wakeups or atStart.wakeups, before, spentBefore, fine and caps, assigned }
    if fine and approval then addPart(answer, 'approval', approval) end -- guard: a commit that is sent again answers what the session says of approvals
    addSteered(answer, record.steered)
    return answer
  end
  checkRecord(recordKey, record)
  local version = digits(commit.version)
  if (record.version or '0') ~= version then return { 'conflict', record.version or '0' } end -- guard: a commit on another version is a conflict
  turn.session, turn.run = sessionOf(worker, record.path1), record.run or atStart.run
  turn.rootKey = rootKeyOf(tag, turn.session)
  local cancelled, outcome = nil, commit.outcome
  cancelled, turn.cancelCount, turn.spentBefore, turn.caps, turn.paused, turn.approval, turn.turnUs = readCancellation(tag, record, worker)
  if cancelled and outcome ~= 'cancelled' then return { 'cancelled' } end -- guard: cancel check of commit
  -- A fail-over lost the cancel that this node was told of: with this end the session would neither go on nor ever be finished.
  if not cancelled and outcome == 'cancelled' then return { 'conflict', version } end -- guard: end of a cancel that was lost
  turn.cancelled = cancelled
  local dropped = cancelled and readDropped(recordKey, record, cancelled)
  if dropped then
    local last = commit.texts + commit.entries - 1
    commit.inputsConsumed, turn.texts[last] = 1, entryWith(turn.texts[last], dropped) -- guard: a cancelled run takes the message that it was to begin with
  end
end

-- Plans what the commit changes of other workers, or of the whole session. Most commits of a worker without parent and children change nothing of them.
-- Returns the refusals, or nil.
local function planOthersIfAny(tag, turn)
  local commit, record = turn.commit, turn.record
  local pendingCount = commit.pendingCount or 0
  turn.others = noOthers
  local changesOthers = turn.spentBefore or record.parent or record.calls or #commit.spawns > 0 or #commit.sends > 0 or pendingCount > 0 or -- guard: a root that becomes an agent counts with its children
    #commit.resultsConsumed > 0 or turn.awaitsResults
  if not changesOthers then return nil end
  turn.own = { id = commit.worker, record = record, session = turn.session, rootKey = turn.rootKey, run = turn.run, depth = tonumber(record.depth or atStart.depth),
    pendingCount = pendingCount, cancelCount = turn.cancelCount, spent = turn.spentBefore, inline = false }
  turn.own.inline = not commit.outcome and commit.inline -- guard: no slot runs a child that is cancelled at once
  if turn.paused then turn.own.inline = false end -- guard: no slot runs a child of a paused session
  local refused
  turn.others, refused = planOthers(tag, turn.own, commit, turn.awaitsResults)
  return refused
end

-- Prepares for a session that ends with a commit. The keys that its end needs are looked at once for all commits of the script.
local function expectEnd(tag, batch)
  if batch.listens ~= nil then return end
  checkSort('zset', endsKeyOf(tag)) -- guard: a commit is whole even if the index of ends cannot be read
  batch.listens = hasEndpoints(tag)
end

-- Checks all that would be written, without writing. Returns the answer if something is refused.
local function planTurn(tag, turn, batch)
  local commit, record, recordKey, outcome, wait = turn.commit, turn.record, turn.recordKey, turn.commit.outcome, turn.commit.wait
  turn.awaitsResults = wait and waitsForResults(wait)
  local refused = planOthersIfAny(tag, turn)
  if refused then return { 'refused', refused } end
  local hadSignals, consumed = (record.signalsOpen or atStart.signalsOpen) ~= '0', commit.inputsConsumed or 0
  if (commit.signalsConsumed or 0) > 0 or (outcome and hadSignals) then checkSort('list', recordKey .. laneKeys.signals) end
  -- The length is read once: it shows that the key is a list, and whether more mail waits there.
  turn.inboxLeft = (consumed > 0 or wait or outcome) and lengthOf(turn.inboxKey) - consumed or 0 -- guard: keys are looked at before the first write
  if #commit.largeTaken > 0 then checkSort('hash', largeKeyOf(recordKey)) end
  if #commit.steersTaken > 0 then checkPositions(turn.inboxKey, tonumber(record.inbox or atStart.inbox), commit.steersTaken) end
  if commit.dead then
    checkSort('stream', tag .. ':dead')
    checkSort('zset', tag .. ':timers', openLettersKeyOf(tag))
  end
  if outcome and record.gates then checkGatesOf(tag, record) end
  if #commit.timers > 0 or wait == 'retry' or (outcome and (hadSignals or record.wait == 'retry')) then
    checkSort('zset', tag .. ':timers')
    checkSort('hash', recordKey .. ':timers')
  end
  if #commit.asks > 0 or #commit.withdraws > 0 or (outcome and hadSignals) then checkAskKeys(tag, recordKey, turn.session) end
  if #commit.costs > 0 then planCosts(turn, commit.costs) end
  if #commit.cancels > 0 then
    local base = sessionKey(tag, turn.session)
    checkSort('set', base .. ':cancelled', tag .. ':cancelling')
    checkSort('hash', base .. ':reasons')
    checkCount(turn.rootKey, 'cancelCount', turn.cancelCount)
  end
  for index = 1, #commit.withdraws do
    local ask = commit.withdraws[index].id
    if redis.call('SISMEMBER', recordKey .. ':asks', ask) == 0 then return { 'refused', { { 'ask_ended', '', ask } } } end -- guard: an ask that has ended is not withdrawn
  end
  turn.endsSession = outcome and not record.parent and record.mode ~= 'conversation' and (outcome ~= 'cancelled' or turn.cancelled == 'own') -- guard: a job whose run is cancelled ends
  if turn.endsSession or (wait and record.mode == 'job') then
    expectEnd(tag, batch)
    if record.notify or batch.listens then checkSort('zset', tag .. ':timers') end
  end
  if outcome and not (record.parent or (turn.endsSession and turn.inboxLeft + #turn.others.mails <= 0)) then
    checkSort('hash', sessionKey(tag, turn.session) .. ':results')
  end
end
