--[[ claims – the next worker for a slot, with all that its node needs to run it. A script claims by itself, or at the end of a commit. ]]

-- No turn receives more timers and inputs than this: it ends after fewer steps, and what follows comes with the next assignment.
local mailsMost = 48

-- Reads one lane from its head, at most `most` bytes (one mail at least) and `count` mails. Nearly all lanes have one mail or none; behind the second
-- one it reads mail by mail, since each may have a megabyte. Tells whether there is more.
local function readLane(laneKey, most, count)
  local mails = redis.call('LRANGE', laneKey, '0', '1')
  if #mails < 2 then return mails, false end
  local bytes = #mails[1] + #mails[2]
  if bytes > most then return { mails[1] }, true end -- guard: an assignment holds no more bytes of mail than a claim may read
  for index = 2, count - 1 do -- guard: an assignment holds no more mails than a turn may receive
    local mail = redis.call('LINDEX', laneKey, digits(index))
    if not mail then return mails, false end
    bytes = bytes + #mail
    if bytes > most then return mails, true end -- guard: an assignment reads no mail behind the first one that does not fit
    mails[index + 1] = mail
  end
  return mails, true
end

-- All results that have come. A run awaits a limited number of children (hardSessionLimits.children), but with childrenAtOnce as many as its session has
-- workers: then the lane may have many MiB. Large results stand beside the lane, which has their heads. As many as fit, and at least one, replace
-- their heads here, in the order of the calls, in which the parent receives them; the next claim brings others. Also returns where these stand in the
-- list, counted from 0; false: there is none.
local function readResults(recordKey, most)
  local results, calls, indexes, bytes = redis.call('LRANGE', recordKey .. laneKeys.results, 0, -1), {}, {}, 0
  for index = 1, #results do
    local call = callOfHead(results[index])
    if call then calls[#calls + 1], indexes[call] = call, index end
    bytes = bytes + #results[index]
  end
  if #calls == 0 then return results, false end
  table.sort(calls) -- guard: large results come in the order of their calls
  local taken = {}
  for index = 1, #calls do
    local at = indexes[calls[index]]
    local text = redis.call('HGET', largeKeyOf(recordKey), digits(calls[index])) or results[at] .. 'lost' -- guard: a parent learns that a large result is lost
    bytes = bytes + #text
    if index > 1 and bytes > most then break end -- guard: a claim reads no more large results than fit
    results[at], taken[index] = text, digits(at - 1)
  end
  return results, taken
end

-- Returns the inputs that may begin the runs of one turn, and the permissions of these runs: a run has no more than the worker whose message began it. If
-- the sender of the first input is restricted, this is the first input alone; otherwise it is all inputs before the next one of such a sender.
local function limitedFrom(inbox)
  local limited = permissionsInMail(inbox[1]) -- guard: a run has no more than the sender of its message may use
  if limited then return { inbox[1] }, limited end -- guard: a turn under the permissions of a sender receives no other input
  for index = 2, #inbox do
    if permissionsInMail(inbox[index]) then return { unpack(inbox, 1, index - 1) }, false end -- guard: an input of a restricted sender waits for a turn of its own
  end
  return inbox, false
end

-- Everything a node needs to run the turn: the record, the state if it has a key of its own, the lanes that may be received from. Returns also the inputs
-- and the permissions that stand in it: a claim writes what follows from them.
-- Timers and results belong to a run: between runs only the inbox lane is read.
local function readAssignment(tag, id, record, flat, token, purpose, suspect, most, spent, caps, approval)
  local base = workerKey(tag, id)
  local signals, results, inbox, large = false, false, false, false
  if record.open == '1' then
    if (record.signalsOpen or atStart.signalsOpen) ~= '0' then signals = readLane(base .. laneKeys.signals, most, mailsMost) end
    if (record.pendingCalls or atStart.pendingCalls) ~= '' then results, large = readResults(base, most) end
  end
  local limited = record.runPermissions or false
  if record.open ~= '1' then inbox, limited = limitedFrom(readLane(base .. laneKeys.inbox, most, mailsMost)) end
  local state = record.data or atStart.data
  if state == '@' then state = redis.call('GET', base .. ':state') or '' end
  -- The record as one string: many short ones cost Redis and the node several times as much. No value holds a zero byte.
  local reply = { 'assigned', id, purpose, token, suspect and '1' or '0', table.concat(withPermissions(tag, id, record, flat), '\0'), state, signals, results, inbox, large, spent, caps, limited }
  -- Nearly all sessions have no such text.
  if approval then reply[15] = approval end -- guard: an assignment holds what the session says of approvals
  return reply, inbox, limited
end

-- Lists of kinds, by the digest with which a claim names them, and where words were found in them. What follows from its name never changes, so a
-- function of Redis may keep it from call to call. Only a few lists are kept, or nodes that come and go would fill the table.
local kindLists, kindListsCount = {}, 0
local function namedKinds(tag, digest, text)
  local key, list = tag .. ':kind-lists:' .. digest, kindLists[digest]
  if text ~= '' then
    local isNew = redis.pcall('SET', key, text, 'PX', '86400000', 'NX') -- guard: Redis keeps the list of kinds that a claim sends whole
    if not isNew then redis.pcall('PEXPIRE', key, '86400000') end
  else
    text = list and list.text or redis.pcall('GET', key)
  end
  if not list and type(text) == 'string' then
    if kindListsCount >= 64 then kindLists, kindListsCount = {}, 0 end
    list = { text = text, found = {}, isWhole = true }
    -- All words are found in one pass: to search the text once for each of a thousand kinds would take a thousand passes.
    for place, word in string.gmatch(text, '()(%S+)') do list.found[word] = list.found[word] or place end
    kindLists[digest], kindListsCount = list, kindListsCount + 1
  end
  return list or { text = ' ', found = {} }
end

-- The kinds that the node has in the pool of a claim. Claims of one script share them.
local function readKinds(tag, claim)
  local node, pool = claim.node, claim.pool
  if not node.lists[pool] then
    local text = ' '
    for index = 1, #node.kinds do
      if node.kinds[index].pool == pool then text = node.kinds[index].list end
    end
    local digest, whole = string.match(text, '^@(%x+)(.*)$')
    node.lists[pool] = { text = text, found = {} }
    if digest then node.lists[pool] = namedKinds(tag, digest, whole) end -- guard: a claim may name its kinds by the digest of their list
  end
  claim.kinds = node.lists[pool]
end

-- Where a word stands among the kinds of a claim; false: nowhere.
local function placeOfKind(claim, word)
  local kinds = claim.kinds
  local place = kinds.found[word]
  if place == nil and kinds.isWhole then return false end
  if place == nil then
    place = string.find(kinds.text, ' ' .. word .. ' ', 1, true) or false
    kinds.found[word] = place
  end
  return place
end

-- Has the worker no children, and will it have none? Kinds that spawn nothing stand behind the ! in the list of a node.
local function isChildless(claim, record)
  local from, place = placeOfKind(claim, '!'), placeOfKind(claim, record.kind)
  return from and (record.pendingCalls or atStart.pendingCalls) == '' and place and place > from -- guard: a worker with children is not started again, whatever its kind spawns by now
end

-- Checks a worker whose last turn could not commit. If a commit of it could not write to one of its keys, or count with one of its fields, the worker is
-- not to blame. This script does not know to whom the worker sends, and a damaged recipient refuses its mail by itself; but its result goes to its
-- parent. A worker without children writes nothing about children into its session.
local function checkWritten(tag, id, record, cancelCount, spent, childless)
  local session = sessionOf(id, record.path1)
  local recordKey, base, rootKey = workerKey(tag, id), sessionKey(tag, session), rootKeyOf(tag, session)
  checkSort('list', recordKey .. ':log', recordKey .. laneKeys.signals, recordKey .. laneKeys.results, recordKey .. laneKeys.inbox)
  checkSort('hash', recordKey .. ':timers', largeKeyOf(recordKey), base .. ':results')
  checkSort('stream', tag .. ':events', tag .. ':dead')
  checkSort('zset', openLettersKeyOf(tag)) -- guard: a worker that could not commit is checked first: the index of open letters
  if not record.parent then checkSort('zset', endsKeyOf(tag)) end -- guard: a worker that could not commit is checked first: the index of ends
  checkAskKeys(tag, recordKey, session) -- guard: a worker that could not commit is checked first: the keys of its asks
  if not childless then -- guard: a worker that spawns nothing is started again whatever is damaged that only children need
    checkSort('list', base .. ':workers') -- guard: a worker that could not commit is checked first: the list of its session
    checkSort('set', base .. ':cancelled', base .. ':ending', tag .. ':cancelling') -- guard: a worker that could not commit is checked first: the sets of its session
    checkSort('hash', permissionsKeyOf(tag, session)) -- guard: a worker that could not commit is checked first: the permissions of its session
    checkCount(rootKey, 'workers', redis.call('HGET', rootKey, 'workers')) -- guard: a worker that could not commit is checked first: the count of its workers
    checkCount(rootKey, 'cancelCount', cancelCount) -- guard: a worker that could not commit is checked first: the count of its cancels
  end
  if not string.find(spent or '0 0', '^%d+ %d+ ?%d*$') then throwDamage('field spent of ' .. rootKey .. ' should be two numbers, or three') end -- guard: a worker that could not commit is checked first: its spending
  costWith(recordKey, 'cost', record.cost, {}) -- guard: a worker that could not commit is checked first: its cost
  costWith(rootKey, 'sessionCost', redis.call('HGET', rootKey, 'sessionCost'), {}) -- guard: a worker that could not commit is checked first: the cost of its session
  checkGatesOf(tag, record) -- guard: a worker that could not commit is checked first: the gates of its run
  if record.parent and (record.run or atStart.run) == '1' and record.parentRun ~= '-' then
    checkSort('hash', workerKey(tag, record.parent), largeKeyOf(workerKey(tag, record.parent)))
    checkSort('list', workerKey(tag, record.parent) .. laneKeys.results) -- guard: a worker that could not commit is checked first: the parent that its result goes to
    checkSort('list', waitingKey(workerKey(tag, record.parent))) -- guard: a worker that could not commit is checked first: the siblings that wait to start
  end
end

-- Does the run go on with code of users, for its last step at least: to run, or `onCancel` of its kind?
local function runsCode(purpose, record)
  return purpose == 'run' or (purpose == 'cancelled' and awaitsLastStep(record))
end

-- A queued worker, with its assignment if this node can run it; else the reason: gone | unfit | paused, with the key where its session keeps it.
-- purpose: run | cancelled (for its cancelling end only) | poison (quarantined: for its failing end only).
local function readCandidate(tag, claim, id)
  local recordKey = workerKey(tag, id)
  local record, flat = readRecord(recordKey)
  if record.status ~= 'queued' then return nil, 'gone' end
  checkRecord(recordKey, record)
  if not placeOfKind(claim, record.kind) then return nil, 'unfit' end
  local epoch, committed = epochOf(record)
  local starts = epoch - committed
  local suspect = starts >= claim.node.suspectAfter
  local purpose = 'run'
  local cancelled, cancelCount, spent, caps, paused, approval = readCancellation(tag, record, id)
  if cancelled then
    purpose = 'cancelled' -- guard: cancel check of claim
  elseif paused then -- guard: pause check of claim
    local heldKey = heldKeyOf(tag, sessionOf(id, record.path1))
    checkSort('zset', heldKey)
    return nil, 'paused', heldKey
  elseif tonumber(record.isolated or atStart.isolated) >= claim.node.poisonAfter then
    purpose = 'poison'
  end
  suspect = suspect and runsCode(purpose, record) -- guard: a last step that ends its node is a suspect like any other
  if suspect and not claim.maySuspect then return nil, 'unfit' end -- guard: a suspect runs only where no other suspect does
  if starts > 0 then checkWritten(tag, id, record, cancelCount, spent, isChildless(claim, record)) end -- guard: a worker that could not commit is checked first
  local token = digits(epoch + 1) .. ':' .. claim.nonce -- guard: starts counted before any work
  local spentSoFar = spent -- guard: an assignment holds the session's spending
  local reply, inbox, limited = readAssignment(tag, id, record, flat, token, purpose, suspect, claim.node.mailBytes, spentSoFar, caps, approval)
  return { id = id, record = record, token = token, purpose = purpose, suspect = suspect, reply = reply, inbox = inbox, limited = limited }
end

-- How far into a run queue a claim looks at once. It reads the whole records of the first workers, which are nearly always fit. It asks the others
-- for a few fields first, and reads their records only if these fields do not say already that this node cannot run the worker now.
local readMost, nearMost, lookMost = 32, 384, 512 -- guard: a claim looks past the first ones
local function kindIfForeign(tag, claim, id)
  local kind = redis.pcall('HGET', workerKey(tag, id), 'kind')
  return type(kind) == 'string' and not placeOfKind(claim, kind) and kind
end

local function mayFit(tag, claim, id)
  if claim.maySuspect then return true end
  local field = redis.pcall('HMGET', workerKey(tag, id), 'token', 'commit')
  return field.err or startsOf({ token = field[1] or nil, commit = field[2] or nil }) < claim.node.suspectAfter
end

-- If the queue is longer than a claim may look, a claim that met suspects looks last at some workers further behind, at others each time. Returns how
-- much further. Suspects stay in their queue while another one runs, and hundreds of them must not hide the work behind them.
local function lookBehind(queueKey)
  local count = redis.call('ZCARD', queueKey)
  return count > lookMost and redis.call('TIME')[2] % (count - nearMost) or 0 -- guard: suspects hide no work behind them
end

-- Plans to take the first worker of one queue that this node can run; nil: there is none. Other workers that the search met are added to `met`.
local function planFrom(tag, claim, queueKey, met)
  local from = 0
  while from < lookMost do
    local last = from == 0 and 0 or from < readMost and readMost - 1 or from < nearMost and nearMost - 1 or lookMost - 1
    local behind = from >= nearMost and met.suspects and lookBehind(queueKey) or 0
    local candidates = redis.call('ZRANGE', queueKey, digits(from + behind), digits(last + behind), 'WITHSCORES')
    if behind > 0 then met.unfit = true end
    met.looked = met.looked + #candidates / 2
    for index = 1, #candidates, 2 do
      local id, place = candidates[index], candidates[index + 1]
      local fine, found, why, heldKey = true, nil, 'unfit', nil
      if from < readMost or mayFit(tag, claim, id) then -- guard: a claim reads little of later workers first
        fine, found, why, heldKey = pcall(readCandidate, tag, claim, id)
      else
        met.suspects = true
      end
      if not fine then
        if not damageOf(found) then error(found, 0) end
        met.damaged[#met.damaged + 1] = { id = id, key = queueKey }
      elseif found then
        found.queuePlace = place
        return found
      elseif why == 'gone' then
        met.gone[#met.gone + 1] = { id = id, key = queueKey }
      elseif why == 'paused' then
        met.held[#met.held + 1] = { id = id, key = queueKey, queuePlace = place, heldKey = heldKey }
      else
        met.unfit = true
        local kind = kindIfForeign(tag, claim, id)
        if kind then met.foreign[#met.foreign + 1] = { id = id, queuePlace = place, kind = kind } end
      end
    end
    if #candidates == 0 then return nil end
    from = last + 1
  end
end

-- Plans to take the first queued worker that this node can run. Reads before it writes, also when it follows a commit in one script. A worker whose keys
-- cannot be read or written is damaged: it must not keep others from running.
local function planClaim(tag, claim)
  local queues, hasOthers = queuesOf(tag, claim.pool, placeOfKind, claim)
  local met = { unfit = hasOthers, looked = #queues - 1, gone = {}, damaged = {}, held = {}, foreign = {} } -- guard: a wake-up goes on to nodes that host the kinds of other queues
  for index = 1, #queues do
    local found = planFrom(tag, claim, queues[index], met)
    if found then
      found.met, found.queueKey = met, queues[index]
      return found
    end
    -- The next claim, of this node or of another one, looks further.
    if met.looked >= #queues - 1 + lookMost then met.unfit = true break end -- guard: a claim looks at no more workers than a script may
  end
  return { tag = met.unfit and 'unfit' or 'empty', met = met }
end

-- Takes damaged workers out of their queue. Sweeps put such a worker back, so that it is looked at about once a second until it is mended.
local function writeDamaged(tag, pool, damaged)
  for index = 1, #damaged do
    takeFrom(tag, pool, damaged[index].key, damaged[index].id)
    redis.call('ZADD', tag .. ':run:unhosted', digits(nextPlace(tag, 'unhosted')), damaged[index].id) -- guard: a damaged worker comes back into the run queue
  end
end

-- Adds these to the list of this name: of hundreds of workers, one by one, Redis would need longer.
local function addTo(lists, name, ...)
  local list = lists[name] or {}
  lists[name] = list
  for index = 1, select('#', ...) do list[#list + 1] = select(index, ...) end
end

-- Writes what a claim met before it found its worker, or found nothing. Workers of paused sessions leave their queues, each with its place, so that
-- they cost no claim more until their sessions are resumed.
local function writeMet(tag, pool, met)
  writeDamaged(tag, pool, met.damaged)
  if #met.held + #met.gone + #met.foreign == 0 then return end
  local held, gone = {}, {}
  for index = 1, #met.held do
    local one = met.held[index]
    addTo(held, one.heldKey, one.queuePlace, one.id)
    addTo(gone, one.key, one.id)
  end
  for heldKey, placed in pairs(held) do redis.call('ZADD', heldKey, unpack(placed)) end -- guard: a worker of a paused session is kept for its resume
  for index = 1, #met.gone do addTo(gone, met.gone[index].key, met.gone[index].id) end
  for queueKey, ids in pairs(gone) do takeFrom(tag, pool, queueKey, unpack(ids)) end
  writeToKindQueues(tag, pool, met.foreign)
end

-- Writes into the record that the worker runs. When a new run starts, the failure of the last one goes.
local function writeClaimed(tag, claim, plan)
  local record, recordKey = plan.record, workerKey(tag, plan.id)
  local changes = { 'status', 'running', 'token', plan.token }
  if plan.suspect then
    changes[#changes + 1] = 'isolated'
    changes[#changes + 1] = digits(tonumber(record.isolated or atStart.isolated) + 1) -- guard: isolated starts are counted
  end
  if plan.purpose == 'run' then
    if placeOfKind(claim, record.kind .. '*') then
      changes[#changes + 1] = 'onCancel'
      changes[#changes + 1] = record.run or atStart.run -- guard: a run that begins on a node whose kind has onCancel gets a last step
    end
    local isBetweenRuns = record.failed == '1' and record.open ~= '1' and (record.attempt or atStart.attempt) == '0' and #plan.inbox > 0
    if isBetweenRuns and string.sub(plan.inbox[1], 1, 2) ~= 'c\t' then -- guard: an order to a worker between two runs leaves the failure of the last one
      -- A run starts, with the head of the inbox lane: what the last one failed with is no longer true of this worker.
      changes[#changes + 1] = 'failed'
      changes[#changes + 1] = '0'
      redis.call('DEL', recordKey .. ':failure')
    end
  end
  if plan.limited then
    changes[#changes + 1] = 'runPermissions'
    changes[#changes + 1] = plan.limited
  elseif record.runPermissions then
    redis.call('HDEL', recordKey, 'runPermissions') -- guard: the permissions of a run end with it
  end
  redis.call('HSET', recordKey, unpack(changes))
end

-- What T:claims keeps of a slot.
local function heldOf(claim, plan)
  return claim.nonce .. ' ' .. plan.id .. (plan.purpose == 'run' and '' or (' ' .. plan.purpose))
end

-- Returns the answer, and how many workers and queues it has looked at.
local function claimNext(tag, claim, now)
  readKinds(tag, claim)
  local plan = planClaim(tag, claim)
  local wakeupsKey = tag .. ':wakeups:' .. claim.pool
  local id, met = plan.id, plan.met
  if #met.damaged > 0 then checkSort('zset', tag .. ':run:unhosted') end
  if id then
    -- The first write, so it may fail.
    redis.call('ZADD', tag .. ':leases', digits(now + claim.node.leaseMs), id)
    writeMet(tag, claim.pool, met)
    takeFrom(tag, claim.pool, plan.queueKey, id)
    writeClock(tag, claim.pool, plan.queuePlace)
    writeClaimed(tag, claim, plan)
    redis.pcall('HSET', tag .. ':claims:' .. claim.node.id, claim.slot, heldOf(claim, plan))
    if claim.wakeup ~= '' and claim.keepWakeup then
      redis.pcall('ZADD', wakeupsKey, digits(now + claim.wakeupMs), claim.wakeup)
      if claim.wasBusy then redis.pcall('ZREM', tag .. ':busy:' .. claim.pool, claim.wakeup) end
    end
    return plan.reply, met.looked
  end
  writeMet(tag, claim.pool, met)
  if claim.wakeup ~= '' then
    redis.pcall('ZREM', wakeupsKey, claim.wakeup) -- guard: the wake-up of a slot that finds nothing is removed
    if claim.wasBusy then redis.pcall('ZREM', tag .. ':busy:' .. claim.pool, claim.wakeup) end
  end
  return { plan.tag }, met.looked
end

-- Is this nonce older than that which the slot was assigned since? Nonces are "<number>.<random>", numbered by their node.
local function isOlderNonce(nonce, held)
  local number, heldNumber = string.match(nonce, '^(%w+)%.'), string.match(held, '^(%w+)%.')
  return number and heldNumber and tonumber(number, 36) < tonumber(heldNumber, 36)
end

-- The assignment of a worker that this claim was assigned before; empty when that turn is over.
local function readHeld(tag, claim, id, purpose)
  local record, flat = readRecord(workerKey(tag, id))
  if string.match(record.token or atStart.token, ':(.*)$') ~= claim.nonce then return { 'empty' } end
  local suspect = runsCode(purpose == '' and 'run' or purpose, record) and startsOf(record) > claim.node.suspectAfter
  local _, spent, caps, _, approval = readShared(tag, id, record)
  return readAssignment(tag, id, record, flat, record.token, purpose == '' and 'run' or purpose, suspect, claim.node.mailBytes, spent, caps, approval)
end

-- What this slot was answered under this nonce before. nil: the nonce is new. The answer is the same assignment; or empty, if that turn is over, or if
-- nobody can run the worker before it is mended: the slot would ask for it again and again. A claim with an older nonce came late and has been answered
-- before. It takes no worker, since nobody would run it.
local function sameAssignment(tag, claim)
  local held = redis.call('HGET', tag .. ':claims:' .. claim.node.id, claim.slot)
  if not held then return nil end
  local nonce, id, purpose = string.match(held, '^(%S+) (%S+) ?(%S*)$')
  local isOlder = isOlderNonce(claim.nonce, nonce) -- guard: a claim older than the last one of its slot is not answered
  if nonce ~= claim.nonce then return isOlder and { 'empty' } or nil end
  local fine, assignment = pcall(readHeld, tag, claim, id, purpose)
  if not fine and not damageOf(assignment) then error(assignment, 0) end -- guard: a lost assignment that cannot be read holds up no slot
  return fine and assignment or { 'empty' }
end
