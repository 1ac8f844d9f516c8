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

-- One as it was sent, from this place on, as the header of commits.lua says. Returns it, and the place behind it.
local function readOnlyStep(lists, cursor)
  checkLast(lists[cursor + 9])
  local step = { worker = lists[cursor], token = lists[cursor + 1], session = lists[cursor + 2], parent = lists[cursor + 3],
    parentRun = lists[cursor + 4], depth = lists[cursor + 5], pool = lists[cursor + 6], result = lists[cursor + 7], event = lists[cursor + 8],
    lists = lists, entriesFrom = 0, entriesTo = 0, logKey = false, outcome = 'completed', last = false, ended = false, isOfRoot = false,
    given = none, claim = false, isOnlyStep = true }
  local count = tonumber(lists[cursor + 9])
  checkArguments(count)
  cursor = readEntries(step, lists, cursor + 9, count)
  checkLast(lists[cursor])
  if lists[cursor] == '.' then return step, cursor + 1 end
  return step, readSlotEnd(step, lists, cursor)
end

-- The same as any other step.
local function asTurn(tag, step)
  local recordKey = workerKey(tag, step.worker)
  local turn = newTurn(step.worker, recordKey, recordKey .. ':log', recordKey .. laneKeys.user, step.token, 1, '0', 'Idle', '0', 1, 'any', step.event)
  turn.lists, turn.entriesFrom, turn.entriesTo, turn.claim = step.lists, step.entriesFrom, step.entriesTo, step.claim
  local given = { outcome = 'completed', failure = '-', result = step.result ~= '' and step.result or nil }
  for name, value in pairs(step.given) do given[name] = value end
  turn.given, turn.outcome = given, 'completed'
  return turn
end

-- Nothing where it is not so plain: another holds the worker, this was recorded, something was cancelled, more mail is there, or its record says
-- what that of a child which has committed nothing never says, or another parent than its node does.
local function commitOnlyStep(tag, step, joint)
  local worker, session, given, claim = step.worker, step.session, step.given, step.claim
  local recordKey = workerKey(tag, worker)
  local field = readFields(recordKey, 'token', 'path' .. step.depth, 'commit', 'alone', 'runState', 'run', 'open', 'wait', 'user')
  if field[1] ~= step.token or field[2] ~= step.parent .. ':' .. step.parentRun or field[3] or field[4] then return nil end
  if field[5] or field[6] or field[7] or field[8] or field[9] then return nil end
  local rootKey = joint.roots[session] or rootKeyOf(tag, session)
  joint.roots[session] = rootKey
  local marks, spent, caps = sharedOf(rootKey, joint.shared)
  local userKey = recordKey .. laneKeys.user
  if marks or lengthOf(userKey) ~= 1 then return nil end
  local report = step.result ~= '' and planReport(tag, step, step.result, joint.results)
  step.logKey = recordKey .. ':log'
  local failed = writeEntries(step)
  if failed then return failed end
  redis.call('LPOP', userKey)
  if report then writeMail(tag, report, timeOf(joint), joint.woke) end
  redis.call('HSET', recordKey, 'commit', step.token .. ':1:1', 'run', '2', 'user', '1', 'token', '', 'place', 'idle')
  joint.ended[#joint.ended + 1] = worker
  tellEvent(step, joint)
  local answer = { 'ok', '1', '', false, spent, caps, false }
  joint.last, joint.lastKey = answer, recordKey
  if claim then completeClaim(claim, step.pool, given, joint) end
  writeSlotEnd(tag, step, joint, answer)
  return answer
end

-- A turn, or an only step.
local function commitStep(tag, step, joint)
  if not step.isOnlyStep then return commitTurn(tag, step, joint) end
  return commitOnlyStep(tag, step, joint) or commitTurn(tag, asTurn(tag, step), joint)
end
