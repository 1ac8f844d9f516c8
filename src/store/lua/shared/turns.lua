--[[ turns – a commit of a turn as it was sent, and all that is looked at before its first write. ]]

local none = {}
local noOthers = { born = none, mails = none }

-- A turn, before its entries and facts are read. All that it will hold is named: a table that grows is made anew again and again.
local function newTurn(worker, recordKey, logKey, inboxKey, token, sequence, version, runState, open, inputsConsumed, wait, event)
  return { worker = worker, recordKey = recordKey, logKey = logKey, inboxKey = inboxKey, token = token, sequence = sequence, version = version,
    runState = runState, open = open, inputsConsumed = inputsConsumed, wait = wait, event = event, lists = false, entriesFrom = 0, entriesTo = 0, given = false,
    spawns = none, sends = none, timers = none, signalsConsumed = 0, resultsConsumed = '', resultsSeen = 0, pendingCount = 0, retryMs = 0, eager = false,
    claim = false, record = false, pool = false, session = false, run = false, rootKey = false, cancelCount = false, spentBefore = false, caps = false,
    hit = false, outcome = false, waitsForOne = false, turnEnds = false, others = false, own = false, hadTimers = false, inboxLeft = 0,
    endsSession = false, changes = false, ofRoot = false, signals = 0, results = 0, last = 0, ended = false, assigned = false,
    woke = false }
end

-- The entries of a step, behind their count, which was checked. Returns the place behind them.
local function readEntries(turn, lists, cursor, count)
  if cursor + count > #lists then error('the entries should be as many as their count says', 0) end
  turn.entriesFrom, turn.entriesTo, turn.lists = cursor + 1, cursor + count, lists
  return turn.entriesTo + 1
end

-- What a slot claims with, from this place on.
local function readClaim(lists, cursor)
  local claim = { wakeup = lists[cursor], nonce = lists[cursor + 1], slot = lists[cursor + 2], node = lists[cursor + 3], kinds = lists[cursor + 4],
    leaseMs = tonumber(lists[cursor + 5]), mailBytes = tonumber(lists[cursor + 6]), suspectAfter = tonumber(lists[cursor + 7]),
    poisonAfter = tonumber(lists[cursor + 8]) }
  checkArguments(claim.leaseMs, claim.mailBytes, claim.suspectAfter, claim.poisonAfter)
  return claim
end

-- A turn as it was sent, from this place on, as the header of commit.lua says, up to its word . Returns it, and the place behind it.
local function readCommit(tag, lists, cursor)
  checkLast(lists[cursor + 9])
  local recordKey = workerKey(tag, lists[cursor])
  local turn = newTurn(lists[cursor], recordKey, recordKey .. ':log', recordKey .. laneKeys.inbox, lists[cursor + 1], tonumber(lists[cursor + 2]),
    lists[cursor + 3], lists[cursor + 4], lists[cursor + 5], tonumber(lists[cursor + 6]), lists[cursor + 7], lists[cursor + 8])
  cursor = cursor + 9
  local given, spawns, sends, timers = {}, none, none, none
  local count, length = tonumber(lists[cursor]), #lists
  checkArguments(turn.sequence, turn.inputsConsumed, count)
  cursor = readEntries(turn, lists, cursor, count)
  while true do
    local name, first, second = lists[cursor], lists[cursor + 1], lists[cursor + 2]
    local values = 1
    if name == '.' then break end
    if name == 'spawn' then
      if #spawns == 0 then spawns = {} end
      local how = lists[cursor + 5]
      spawns[#spawns + 1] = { id = first, kind = second, name = lists[cursor + 3], pool = lists[cursor + 4], isDetached = how == '1' or how == '3',
        isOffered = how == '2' or how == '3', call = lists[cursor + 6], permissions = lists[cursor + 7], mails = { lists[cursor + 8] }, key = false, inboxKey = false }
      values = 8
    elseif name == 'send' then
      if #sends == 0 then sends = {} end
      sends[#sends + 1] = { worker = first, mail = second }
      values = 2
    elseif name == 'timer' then
      if #timers == 0 then timers = {} end
      timers[#timers + 1] = { id = first, ms = tonumber(second), value = lists[cursor + 3] }
      checkArguments(timers[#timers].ms)
      values = 3
    elseif name == 'eager' then
      turn.eager = { node = first, leaseMs = tonumber(second), slot = lists[cursor + 3], nonce = lists[cursor + 4] }
      checkArguments(turn.eager.leaseMs)
      values = 4
    elseif name == 'claim' then
      turn.claim = readClaim(lists, cursor + 1)
      values = 9
    else
      given[name] = first
    end
    cursor = cursor + values + 1
    if cursor > length then error('each fact should have as many values as the header says', 0) end
  end
  turn.given, turn.spawns, turn.sends, turn.timers = given, spawns, sends, timers
  if given.signalsConsumed or given.resultsSeen or given.pendingCount or given.retryMs then
    turn.signalsConsumed, turn.resultsSeen = tonumber(given.signalsConsumed or 0), tonumber(given.resultsSeen or 0)
    turn.pendingCount, turn.retryMs = tonumber(given.pendingCount or 0), tonumber(given.retryMs or 0)
    checkArguments(turn.signalsConsumed, turn.resultsSeen, turn.pendingCount, turn.retryMs)
  end
  turn.resultsConsumed, turn.outcome = given.resultsConsumed or '', given.outcome or false
  if given.dead then checkArguments(tonumber(given.deadKept)) end
  return turn, cursor + 1
end

-- What a claim at the end of a turn has from the turn.
local function completeClaim(claim, pool, given, batch)
  claim.pool, claim.wakeupMs = pool, batch.wakeupMs
  claim.wasBusy, claim.keepWakeup, claim.maySuspect = given.wasBusy, given.keepWakeup, given.noSuspect == '1' and '0' or '1'
end

-- May this node write, and has it not written this already? Else what is answered instead.
local function guardTurn(tag, turn, batch)
  local worker, recordKey, token, sequence, version = turn.worker, turn.recordKey, turn.token, turn.sequence, turn.version
  local record = readRecord(recordKey)
  local claim = turn.claim
  if claim then completeClaim(claim, record.pool or atStart.pool, turn.given, batch) end
  turn.record = record
  local commitToken, commitSequence = string.match(record.commit or '', '^(.*):(%d+)$')
  local repeated = commitToken == token and sequence <= tonumber(commitSequence)
  if repeated or record.token ~= token then
    local before = claim and sameAssignment(tag, claim) or false
    if not repeated then return { 'fenced', before } end
    -- It was recorded, whatever became of its root since.
    local fine, _, spent, caps = pcall(readShared, tag, worker, record)
    local assigned = turn.eager and readEager(tag, turn)
    return { 'ok', record.version, record.wakeups or atStart.wakeups, before, fine and spent, fine and caps, assigned }
  end
  checkRecord(recordKey, record)
  if (record.version or '0') ~= version then return { 'conflict', record.version or '0' } end
  local session = sessionOf(worker, record.path1)
  turn.pool, turn.session, turn.run = record.pool or atStart.pool, session, record.run or atStart.run
  turn.rootKey = record.parent and rootKeyOf(tag, session) or recordKey
  local hit, outcome = nil, turn.outcome
  hit, turn.cancelCount, turn.spentBefore, turn.caps = readCancellation(tag, record, worker)
  if hit and outcome ~= 'cancelled' then return { 'cancelled' } end
  -- A fail-over lost the cancel that this node was told of: with this end the session would neither go on nor ever be finished.
  if not hit and outcome == 'cancelled' then return { 'conflict', version } end
  turn.hit = hit
end

-- Checks all that would be written, without writing. Returns what is answered where that is refused.
local function planTurn(tag, turn)
  local record, given, recordKey, spawns, sends, pendingCount = turn.record, turn.given, turn.recordKey, turn.spawns, turn.sends, turn.pendingCount
  local outcome, wait, resultsConsumed, dead, inputsConsumed = turn.outcome, turn.wait, turn.resultsConsumed, given.dead, turn.inputsConsumed
  local waitsForOne = waitsForResults(wait)
  turn.waitsForOne, turn.turnEnds = waitsForOne, wait ~= ''
  turn.others = noOthers
  local concernsOthers = turn.spentBefore or record.parent or record.calls or #spawns > 0 or #sends > 0 or pendingCount > 0 or resultsConsumed ~= '' or waitsForOne
  if concernsOthers then
    turn.own = { id = turn.worker, record = record, session = turn.session, rootKey = turn.rootKey, run = turn.run, depth = tonumber(record.depth or atStart.depth),
      pendingCount = pendingCount, cancelCount = turn.cancelCount, spent = turn.spentBefore, eager = not outcome and turn.eager }
    local ofStep = { spawns = spawns, sends = sends, outcome = outcome, result = given.result, state = given.state, resultsConsumed = resultsConsumed,
      waitsForOne = waitsForOne }
    local refused
    turn.others, refused = planOthers(tag, turn.own, ofStep)
    if refused then return { 'refused', refused } end
  end
  turn.hadTimers = (record.timersOpen or atStart.timersOpen) ~= '0'
  if turn.signalsConsumed > 0 or (outcome and turn.hadTimers) then checkSort('list', recordKey .. laneKeys.signals) end
  -- Read once, to know that it is a list, and whether more waits there.
  local inboxKey = turn.inboxKey
  turn.inboxLeft = (inputsConsumed > 0 or turn.turnEnds or outcome) and lengthOf(inboxKey) - inputsConsumed or 0
  if dead then checkSort('stream', tag .. ':dead') end
  if #turn.timers > 0 or wait == 'retry' or (outcome and (turn.hadTimers or (record.attempt or atStart.attempt) ~= '0')) then
    checkSort('zset', tag .. ':timers')
    checkSort('hash', recordKey .. ':timers')
  end
  turn.endsSession = outcome and not record.parent and record.mode ~= 'conversation' and outcome ~= 'cancelled'
  if outcome and not (record.parent or (turn.endsSession and turn.inboxLeft + #turn.others.mails <= 0)) then
    checkSort('hash', sessionKey(tag, turn.session) .. ':results')
  end
end
