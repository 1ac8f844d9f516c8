--[[ limit – changes how much all agents of a session together may use.
Why a script   a session that is pruned in the meantime must not come back as a record with only this field, and two callers that set one limit each must both count.
KEYS[1] root      hash               KEYS[2] events   stream             KEYS[3] idem     string
ARGV[1] header    json:
  sessionId        id
  modelCalls       for its agents together; absent, here and below: unchanged
  tokens           for its agents together
  toolCalls        for its agents together
  start            the three defaults, as text, for a session without caps
  idemMs           how long the key of this call is known
  from             where it looks on for a worker that goes on, in the list of the session; absent: it begins
ARGV[2] event     json
Returns {"ok", caps} | {"not_found"} | {"finished", state}: no worker of it goes on | {"more", from}: it was not found yet whether one does
Builds  T:s:<session>:workers and :cancelled; T:w:<id> of its workers.
Events  session.limited, in the words of the client. Where all are as they were, only the key is written. A known key: the call
        is sent again, and must not undo a change that came after it.
        Running agents learn of it with their next commit. ]]
local rootKey, eventsKey, idemKey = KEYS[1], KEYS[2], KEYS[3]
local header, event = readHeader(ARGV[1]), ARGV[2]

checkTexts(header, 'sessionId', 'start')
checkNumbers(header, 'idemMs')
if header.idemMs == 0 then error('the header should have a number idemMs above 0', 0) end
checkNumbersIfAny(header, 'modelCalls', 'tokens', 'toolCalls', 'from')
checkLast(event)
local sessionId = header.sessionId

local kind, path, cancel, ended, workers, caps = unpack(readFields(rootKey, 'kind', 'path1', 'cancel', 'ended', 'workers', 'caps'))
if not kind or path then return { 'not_found' } end -- guard: a session that is asked to limit has a root
if readAnswer(idemKey, '^(ok)$') then return { 'ok', caps or header.start } end -- guard: a limit that is sent again undoes no later one
local state = stateOf(cancel, ended)
checkCount(rootKey, 'workers', workers)
local tag = tagOf(rootKey)
-- Detached workers that it left, and what they spawned, go on in a session that has ended. All others rest, or are being cancelled.
local function goesOn(id)
  local record = readRecord(workerKey(tag, id))
  local rests = not record.status or record.status == 'idle' or record.status == 'terminal' -- guard: a worker that has ended keeps no session open for limits
  return not rests and not readCancellation(tag, record, id) -- guard: a worker that is being cancelled keeps no session open for limits
end
-- Looks at some workers from here on. Returns whether one of them goes on, and where the next call looks on, if there are more.
local function leftSome(from)
  local workersMost = 500
  if tonumber(workers or atStart.workers) <= 1 then return false end
  local ids = redis.call('LRANGE', sessionKey(tag, sessionId) .. ':workers', digits(from), digits(from + workersMost - 1))
  for index = 1, #ids do
    -- A damaged worker may go on.
    local fine, does = pcall(goesOn, ids[index])
    if does and (fine or damageOf(does)) then return true end
  end
  return false, #ids == workersMost and from + workersMost -- guard: a limit looks at all workers, however many calls that takes
end
local isLeft, further = false, false
if state ~= 'active' then isLeft, further = leftSome(header.from or 0) end
if further then return { 'more', digits(further) } end
if state ~= 'active' and not isLeft then return { 'finished', state } end -- guard: a finished session takes no limit | a session that left detached workers takes a limit
local after, before = capsWith(rootKey, caps, header.start, header)
redis.call('SET', idemKey, 'ok', 'PX', digits(header.idemMs))
if after == before then return { 'ok', after } end
redis.call('HSET', rootKey, 'caps', after)
writeEvents(eventsKey, { sessionId, event })
return { 'ok', after }
