--[[ commits – one commit, from its checks to its answer. Commits of one script know nothing of each other. They share a batch: it has their time, and after
the last commit it does what is done once for all (batches.lua). ]]

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

-- Does the end of the run drop so many timers and asks that several such ends would hold Redis for too long?
local function dropsMany(turn)
  local signalsMost = 50
  return turn.commit.outcome and (tonumber(turn.record.signalsOpen or atStart.signalsOpen) or 0) > signalsMost
end

-- The answer to a commit that was recorded. Its third and fourth part come when all commits of the script are written: wake-ups, and the slot's claim.
local function answerOf(turn, version)
  local answer = { 'ok', version, '', false, turn.others.spent or turn.spentBefore, turn.caps, turn.assigned or nil }
  if turn.paused then addPart(answer, 'paused', 'paused') end -- guard: pause check of commit
  if turn.approval then addPart(answer, 'approval', turn.approval) end -- guard: a commit answers what the session says of approvals
  addSteered(answer, turn.steered)
  if turn.opensGate then addPart(answer, 'opens', 'opens') end
  return answer
end

-- Writes the costs of model calls, of this worker and of its session.
local function writeCosts(turn, batch)
  local costs = turn.commit.costs
  if #costs == 0 then return end
  change(turn, 'cost', turn.cost)
  changeRoot(turn, 'sessionCost', turn.sessionCost)
  countUsage(batch.usage, turn.record.kind, costs)
end

-- Writes how many mails of each lane have been taken in all.
local function writeCounts(turn)
  local gone = turn.inputsGone or turn.commit.inputsConsumed or 0
  if turn.signals > 0 then change(turn, 'signals', digits(turn.signals)) end
  if turn.results > 0 then change(turn, 'results', digits(turn.results)) end
  if gone > 0 then change(turn, 'inbox', digits(tonumber(turn.record.inbox or atStart.inbox) + gone)) end
end

-- Writes the fields that have changed: of the worker's record, and of its root's.
local function writeChanges(turn)
  if turn.record.wakeups then change(turn, 'wakeups', atStart.wakeups) end
  redis.call('HSET', turn.recordKey, unpack(turn.changes))
  if turn.record.parent and #turn.ofRoot > 0 then redis.call('HSET', turn.rootKey, unpack(turn.ofRoot)) end -- guard: an ended run of a child is marked at the root
end

-- Notes that the session ended with this commit, for what is done once for all commits of the script.
local function noteEnd(turn, batch)
  local ends = batch.ends
  ends[#ends + 1] = digits(timeOf(batch))
  ends[#ends + 1] = turn.session
end

-- Checks the commit of one turn and writes it. Returns its answer.
local function commitTurn(tag, turn, batch)
  local instead = guardTurn(tag, turn, batch) or planTurn(tag, turn, batch)
  if instead then return instead end
  if batch.last and dropsMany(turn) then return { 'failed' } end -- guard: a run that drops many timers and asks ends in a script of its own
  local commit, record = turn.commit, turn.record
  local version = digits(commit.version + 1)
  turn.changes = { 'commit', commit.token .. ':' .. digits(commit.sequence) .. ':' .. version }
  turn.woke = newWakes(batch.pools)
  turn.ofRoot = record.parent and {} or turn.changes
  turn.signals = tonumber(record.signals or atStart.signals) + (commit.signalsConsumed or 0)
  turn.results = tonumber(record.results or atStart.results)
  local failed = writeEntries(turn)
  if failed then return failed end
  writeTaken(tag, turn, batch)
  writeState(turn)
  writeCosts(turn, batch)
  writeOthersIfAny(tag, turn, batch)
  writeTimersAndAsks(tag, turn, batch)
  writeCancels(tag, turn)
  if commit.outcome then writeRunEnd(tag, turn, batch) end
  writeCounts(turn)
  if commit.wait then writeTurnEnd(tag, turn, batch) end
  if turn.ended then writeEndNotices(tag, turn.session, timeOf(batch), record.notify, batch.listens) end
  writeChanges(turn)
  writeQueues(tag, turn.woke)
  tellEvent(turn, batch)
  local answer = answerOf(turn, version)
  batch.last, batch.lastKey = answer, turn.recordKey
  if turn.ended then noteEnd(turn, batch) end
  if commit.wait then writeSlotEnd(tag, turn, batch, answer) end
  return answer
end
