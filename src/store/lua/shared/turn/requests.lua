--[[ requests – claims and commits as nodes send them, in the forms that the headers of claim.lua and commit.lua describe. A part that has another form is an
error. A commit becomes a table of its turn: `commit` is what was sent, with its texts in place; beside it stands what is read and planned later. ]]

local none = {}

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
  checkNumbersIfAny(commit, 'atOnce', 'inputsConsumed', 'signalsConsumed', 'resultsSeen', 'pendingCount', 'signalsOpen', 'steps', 'retryMs', 'turnMs', 'deadKept', 'steersUnseenFrom')
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
