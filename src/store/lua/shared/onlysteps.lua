--[[ only steps – a child's first step, with which its run completes and its turn ends, as most children have no other. Its node says so, and
what never changes of the child: so little of its record is read, and what `commitTurn` does of which nothing concerns it is left out. ]]

-- What its slot does next: the facts up to the word . from this place on. Returns the place behind it.
local function readSlotEnd(step, lists, cursor)
  local given = {}
  step.given = given
  while lists[cursor] ~= '.' do
    if lists[cursor] == 'claim' then
      step.claim = readClaim(lists, cursor + 1)
      cursor = cursor + 10
    else
      given[lists[cursor]] = lists[cursor + 1]
      cursor = cursor + 2
    end
    if cursor > #lists then error('each fact should have as many values as the header says', 0) end
  end
  return cursor + 1
end

-- Siblings, from this place on: children of one run of one parent that a slot holds under one token. Returns what they have in
-- common, and the place behind it.
local function readSiblings(lists, cursor)
  checkLast(lists[cursor + 5])
  local parent, parentRun = lists[cursor + 2], lists[cursor + 3]
  return { token = lists[cursor], session = lists[cursor + 1], parent = parent, parentRun = parentRun, path = parent .. ':' .. parentRun,
    pathField = 'path' .. lists[cursor + 4], pool = lists[cursor + 5] }, cursor + 6
end

-- One as it was sent, from this place on, as the header of commits.lua says. Returns it, and the place behind it.
local function readOnlyStep(lists, cursor, siblings)
  checkLast(lists[cursor + 3])
  local step = { worker = lists[cursor], siblings = siblings, session = siblings.session, pool = siblings.pool, result = lists[cursor + 1],
    event = lists[cursor + 2], lists = lists, entriesFrom = 0, entriesTo = 0, logKey = false, outcome = 'completed', last = false, given = none,
    claim = false, isOnlyStep = true }
  local count = tonumber(lists[cursor + 3])
  checkArguments(count)
  cursor = readEntries(step, lists, cursor + 3, count)
  checkLast(lists[cursor])
  if lists[cursor] == '.' then return step, cursor + 1 end
  return step, readSlotEnd(step, lists, cursor)
end

-- The same as any other step.
local function asTurn(tag, step)
  local recordKey = workerKey(tag, step.worker)
  local turn = newTurn(step.worker, recordKey, recordKey .. ':log', recordKey .. laneKeys.user, step.siblings.token, 1, '0', 'Idle', '0', 1, 'any', step.event)
  turn.lists, turn.entriesFrom, turn.entriesTo, turn.claim = step.lists, step.entriesFrom, step.entriesTo, step.claim
  local given = { outcome = 'completed', failure = '-', result = step.result ~= '' and step.result or nil }
  for name, value in pairs(step.given) do given[name] = value end
  turn.given, turn.outcome = given, 'completed'
  return turn
end

-- Nothing where it is not so plain: another holds the worker, this was recorded, something was cancelled, more mail is there, or its record says
-- what that of a child which has committed nothing never says, or another parent than its node does.
local function commitOnlyStep(tag, step, joint)
  local worker, session, siblings, claim = step.worker, step.session, step.siblings, step.claim
  local recordKey, token = workerKey(tag, worker), siblings.token
  local field = readFields(recordKey, 'token', siblings.pathField, 'commit', 'alone', 'runState', 'run', 'open', 'wait', 'user')
  if field[1] ~= token or field[2] ~= siblings.path or field[3] or field[4] then return nil end
  if field[5] or field[6] or field[7] or field[8] or field[9] then return nil end
  local rootKey = joint.roots[session] or rootKeyOf(tag, session)
  joint.roots[session] = rootKey
  local marks = sharedOf(rootKey, joint.shared)
  local userKey = recordKey .. laneKeys.user
  if marks or lengthOf(userKey) ~= 1 then return nil end
  local report = step.result ~= '' and planReport(tag, siblings, step.result, joint.results)
  step.logKey = recordKey .. ':log'
  local failed = writeEntries(step)
  if failed then return failed end
  redis.call('LPOP', userKey)
  if report then writeMail(tag, report, timeOf(joint), joint.woke) end
  redis.call('HSET', recordKey, 'commit', token .. ':1:1', 'run', '2', 'user', '1', 'token', '', 'place', 'idle')
  joint.ended[#joint.ended + 1] = worker
  tellEvent(step, joint)
  -- What the session has spent is nothing to a turn that is over.
  local answer = claim and { 'ok', '1', '', false } or { 'ok', '1', '' }
  joint.last, joint.lastKey = answer, recordKey
  if claim then completeClaim(claim, step.pool, step.given, joint) end
  writeSlotEnd(tag, step, joint, answer)
  return answer
end

-- A turn, or an only step.
local function commitStep(tag, step, joint)
  if not step.isOnlyStep then return commitTurn(tag, step, joint) end
  local answer = commitOnlyStep(tag, step, joint)
  if answer then return answer end
  answer = commitTurn(tag, asTurn(tag, step), joint)
  if answer[1] == 'ok' then
    -- Answered as the short way does it, also where it is sent again.
    answer[5], answer[6], answer[7] = nil, nil, nil
    if not step.claim then answer[4] = nil end
  end
  return answer
end
