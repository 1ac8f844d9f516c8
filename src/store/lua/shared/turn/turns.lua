--[[ turns – one commit of a turn as it was sent, and all that is looked at before its first write. A turn is a table: `commit` is what was sent,
with its texts in place; beside it stands what was read, and what is planned. ]]

local none = {}
local noOthers = { born = none, mails = none, out = none }

-- What the claims of a node have in common.
local function readNode(node)
  if type(node) ~= 'table' then error('the header should have a node as an object', 0) end
  checkTexts(node, 'id')
  checkNumbers(node, 'leaseMs', 'mailBytes', 'suspectAfter', 'poisonAfter')
  node.kinds, node.lists = listOf(node, 'kinds'), {}
  for index = 1, #node.kinds do checkTexts(node.kinds[index], 'pool', 'list') end
  return node
end

-- What a slot claims with: the header of claim.lua, or an object within that of commit.lua.
local function readClaim(claim, node)
  if type(claim) ~= 'table' or not node then error('the header should have a claim as an object, and its node', 0) end
  checkTexts(claim, 'wakeup', 'nonce', 'slot')
  claim.node = node
end

-- One child, or one of several siblings: what they have in common stands in `sent`, `at` is its place among them. It gets one table with room for what
-- all have, because a thousand tables that grow cost half a millisecond.
local function readSpawn(commit, texts, sent, at, id, kind, pool, call)
  local spawn = { id = id, kind = kind, pool = pool, call = digits(call), mail = texts[commit.texts + sent.mail + at], key = nil, session = nil, root = nil }
  if type(id) ~= 'string' or not spawn.mail then error('the header should have ids and texts of children', 0) end
  if sent.name then spawn.name = sent.name end
  if sent.permissions then spawn.permissions = sent.permissions end
  if sent.detached then spawn.detached = true end
  if sent.offered then spawn.offered = true end
  return spawn
end

-- Reads the children. A field that a child leaves out has the value that it had for the child before. Types are compared here, since a call for each
-- of hundreds of children costs more.
local function readSpawns(commit, texts)
  local all, spawns, kind, pool, call = listOf(commit, 'spawns'), {}, nil, nil, 0
  for index = 1, #all do
    local sent = all[index]
    if index == 1 then checkTexts(sent, 'kind', 'pool') end
    if sent.kind ~= nil and type(sent.kind) ~= 'string' then checkTexts(sent, 'kind') end
    if sent.pool ~= nil and type(sent.pool) ~= 'string' then checkTexts(sent, 'pool') end
    if sent.name ~= nil and type(sent.name) ~= 'string' then checkTexts(sent, 'name') end
    if sent.call ~= nil then checkNumbers(sent, 'call') end
    if type(sent.mail) ~= 'number' then checkNumbers(sent, 'mail') end
    if sent.permissions ~= nil then sent.permissions = textAt(commit, sent, 'permissions', texts) end
    kind, pool, call = sent.kind or kind, sent.pool or pool, sent.call or call + 1
    spawns[#spawns + 1] = readSpawn(commit, texts, sent, 0, sent.id, kind, pool, call)
    if sent.more ~= nil and type(sent.more) ~= 'table' then error('the header should have ids of siblings as a list', 0) end
    for at = 1, sent.more and #sent.more or 0 do
      call = call + 1
      spawns[#spawns + 1] = readSpawn(commit, texts, sent, at, sent.more[at], kind, pool, call)
    end
  end
  return spawns
end

-- Reads the children, mail, timers and asks of a commit.
local function readLists(commit, texts)
  commit.spawns, commit.sends, commit.timers = readSpawns(commit, texts), listOf(commit, 'sends'), listOf(commit, 'timers')
  commit.asks, commit.withdraws = listOf(commit, 'asks'), listOf(commit, 'withdraws')
  commit.cancels = listOf(commit, 'cancels')
  for index = 1, #commit.sends do
    local send = commit.sends[index]
    checkTexts(send, 'worker')
    checkTextsIfAny(send, 'reach', 'when')
    send.mail = textAt(commit, send, 'mail', texts)
  end
  for index = 1, #commit.timers do
    local timer = commit.timers[index]
    checkTexts(timer, 'id')
    checkNumbers(timer, 'ms')
    timer.value = textAt(commit, timer, 'value', texts)
  end
  for index = 1, #commit.asks do
    local ask = commit.asks[index]
    checkTexts(ask, 'id', 'sort')
    checkNumbersIfAny(ask, 'ms')
    ask.body = textAt(commit, ask, 'body', texts)
    if ask.ms then ask.onExpiry = textAt(commit, ask, 'onExpiry', texts) end
  end
  for index = 1, #commit.withdraws do checkTexts(commit.withdraws[index], 'id') end
  for index = 1, #commit.cancels do checkTexts(commit.cancels[index], 'id') end
end

-- Reads a list of positions in a lane, or of numbers of calls.
local function readPositions(commit, name)
  local consumed = commit[name]
  if consumed == nil then return none end
  if type(consumed) ~= 'table' then error('the header should have a list ' .. name, 0) end
  for index = 1, #consumed do checkNumbers(consumed, index) end
  return consumed
end

-- Reads a commit as it was sent, in the form that the header of commit.lua describes.
local function readCommit(tag, commit, texts, node)
  checkTexts(commit, 'worker', 'token', 'runState')
  checkTextsIfAny(commit, 'pendingCalls', 'attempt', 'wait', 'outcome', 'leave')
  checkNumbers(commit, 'sequence', 'version', 'texts', 'entries')
  checkNumbersIfAny(commit, 'atOnce', 'inputsConsumed', 'signalsConsumed', 'resultsSeen', 'pendingCount', 'signalsOpen', 'steps', 'retryMs', 'turnMs', 'deadKept', 'steersSeen')
  if commit.texts < 2 or commit.texts + commit.entries - 1 > #texts then error('the entries should be as many as their count says', 0) end
  for _, name in ipairs({ 'event', 'state', 'stateKey', 'configured', 'failure', 'result', 'dead' }) do
    if commit[name] ~= nil then commit[name] = textAt(commit, commit, name, texts) end
  end
  if commit.dead then checkNumbers(commit, 'deadKept') end
  commit.costs = readCosts(commit)
  readLists(commit, texts)
  commit.openChildren = commit.openChildren and textsOf(commit, 'openChildren') or none
  commit.resultsConsumed, commit.steersTaken, commit.largeTaken = readPositions(commit, 'resultsConsumed'), readPositions(commit, 'steersTaken'), readPositions(commit, 'largeTaken')
  if commit.claim ~= nil then readClaim(commit.claim, node) end
  if commit.inline ~= nil then
    if type(commit.inline) ~= 'table' or not node then error('the header should have inline as an object, and its node', 0) end
    checkTexts(commit.inline, 'slot', 'nonce')
    commit.inline.node = node
  end
  local recordKey = workerKey(tag, commit.worker)
  return { commit = commit, texts = texts, recordKey = recordKey, inboxKey = recordKey .. laneKeys.inbox }
end

-- Sets an item of the answer of a commit that most answers do not have. Items before it that are not there become false, since Redis ends an answer at
-- the first one that is missing.
local function setItem(answer, at, value)
  for index = 7, at - 1 do answer[index] = answer[index] or false end
  answer[at] = value
end

-- Adds what steers the worker to the answer of a commit. Nearly all workers have none.
local function addSteered(answer, steered)
  if not steered or steered == atStart.steered then return end
  setItem(answer, 10, steered) -- guard: a commit answers what steers the worker
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
    if fine and approval then setItem(answer, 9, approval) end -- guard: a commit that is sent again answers what the session says of approvals
    addSteered(answer, record.steered)
    return answer
  end
  checkRecord(recordKey, record)
  local version = digits(commit.version)
  if (record.version or '0') ~= version then return { 'conflict', record.version or '0' } end -- guard: a commit on another version is a conflict
  turn.session, turn.run = sessionOf(worker, record.path1), record.run or atStart.run
  turn.rootKey = record.parent and workerKey(tag, string.sub(record.path1, 1, 36)) or recordKey
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

-- Plans what concerns other workers, or the whole session. Most steps of a worker that is alone concern nobody else. Returns the refusals, or nil.
local function planConcerned(tag, turn)
  local commit, record = turn.commit, turn.record
  local pendingCount = commit.pendingCount or 0
  turn.others = noOthers
  local concernsOthers = turn.spentBefore or record.parent or record.calls or #commit.spawns > 0 or #commit.sends > 0 or pendingCount > 0 or -- guard: a root that becomes an agent counts with its children
    #commit.resultsConsumed > 0 or turn.waitsForOne
  if not concernsOthers then return nil end
  turn.own = { id = commit.worker, record = record, session = turn.session, rootKey = turn.rootKey, run = turn.run, depth = tonumber(record.depth or atStart.depth),
    pendingCount = pendingCount, cancelCount = turn.cancelCount, spent = turn.spentBefore, inline = false }
  turn.own.inline = not commit.outcome and commit.inline -- guard: no slot runs a child that is cancelled at once
  if turn.paused then turn.own.inline = false end -- guard: no slot runs a child of a paused session
  local refused
  turn.others, refused = planOthers(tag, turn.own, commit, turn.waitsForOne)
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
  turn.waitsForOne = wait and waitsForResults(wait)
  local refused = planConcerned(tag, turn)
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
  if #commit.timers > 0 or wait == 'retry' or (outcome and (hadSignals or (record.attempt or atStart.attempt) ~= '0')) then
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
