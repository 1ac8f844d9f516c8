--[[ cancel-worker – cancels one worker with its subtree, or its run with the children that the run waits for: from this instant they can only end.
Why a script   the cancel must name the run that is in progress now, and sweeps must know of it.
KEYS[1] record    hash               KEYS[2] cancelling set              KEYS[3] events   stream
KEYS[4] idem      string
ARGV[1] header    json:
  worker           id
  what             worker: it is cancelled for good; run: only its run in progress is
  run              with run: the number of the run that is meant; absent: whichever is in progress
  idemMs           how long the key of this call is known
ARGV[2] reason    ARGV[3] channel of cancel notices   ARGV[4] event     json
Returns {"ok"} | {"not_found"} | {"terminal"}: it was cancelled for good | {"rests"}: no run of it is in progress, or not the one that is meant
        | {"root"}: it is cancelled for good with its session, by cancel.lua
        | {"session_finished", state}: it rests and its session is over, or its session is being cancelled
Builds  T:w:<id> of its root, its inbox, T:s:<session>:cancelled, ending and reasons.
Events  worker.cancelRequested. Cancelling what is being cancelled is "ok" and writes nothing but its key. A known key is "ok" again: the call
        is sent again, and must not cancel the next run. ]]
local recordKey, cancellingKey, eventsKey, idemKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local header, reason, channel, event = readHeader(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]

local tag = tagOf(recordKey)
checkTexts(header, 'worker', 'what')
checkNumbers(header, 'idemMs')
if header.idemMs == 0 then error('the header should have a number idemMs above 0', 0) end
checkNumbersIfAny(header, 'run')
local worker, what = header.worker, header.what
if readAnswer(idemKey, '^(ok)$') then return { 'ok' } end -- guard: a cancel of a run that is sent again does not cancel the next run
local record = readRecord(recordKey)
if not record.status then return { 'not_found' } end
checkRecord(recordKey, record)
local run = record.run or atStart.run
if what == 'run' and header.run and digits(header.run) ~= run then return { 'rests' } end -- guard: a cancel of one run spares the next one
local session = sessionOf(worker, record.path1)
local rootKey, cancelledKey, reasonsKey = rootKeyOf(tag, session), sessionKey(tag, session) .. ':cancelled', sessionKey(tag, session) .. ':reasons'
if what == 'worker' and not record.parent then return { 'root' } end -- guard: a root is cancelled with its session
if record.status == 'terminal' then return { 'terminal' } end
local state = sessionState(tag, session) or 'pruned'
if state == 'cancelling' then return { 'session_finished', state } end -- guard: a session that is being cancelled takes no cancel of one worker
if state ~= 'active' and record.status == 'idle' then return { 'session_finished', state } end -- guard: a cancel of one worker reaches workers that outlive its session
checkLast(event)
local cancelled, cancelCount = readCancellation(tag, record, worker)
local function noteAnswered() redis.call('SET', idemKey, 'ok', 'PX', digits(header.idemMs)) end
if cancelled == 'whole' or (cancelled and what == 'run') then -- guard: a cancel of one worker is written once
  noteAnswered()
  return { 'ok' }
end
-- A run whose message was not received yet is in progress once its worker was woken for it.
local isBusy = record.open == '1' or (record.status ~= 'idle' and lengthOf(recordKey .. laneKeys.inbox) > 0)
if what == 'run' and not isBusy then return { 'rests' } end -- guard: a run that has not begun is not cancelled
checkSort('set', cancelledKey, cancellingKey, endingKeyOf(tag, session))
checkSort('hash', reasonsKey)
checkCount(rootKey, 'cancelCount', cancelCount) -- guard: a cancel of one worker is whole even if Redis cannot count up

local element = worker .. ':' .. (what == 'run' and run or '*')
redis.call('SADD', cancelledKey, element) -- guard: a cancel of one worker is in the set of its session
redis.call('HSET', reasonsKey, element, reason)
redis.call('HINCRBY', rootKey, 'cancelCount', 1)
local isAlone = what == 'run' and (record.pendingCalls or atStart.pendingCalls) == ''
if isAlone then
  redis.call('SADD', endingKeyOf(tag, session), worker) -- guard: a cancel of a run looks at its worker
else
  redis.call('HSET', rootKey, 'endFrom', '0') -- guard: a cancel of a worker looks at all of its session
end
redis.call('SADD', cancellingKey, session)
redis.call('PUBLISH', channel, session)
noteAnswered()
writeEvents(eventsKey, { subjectOf(session, worker), event })
return { 'ok' }
