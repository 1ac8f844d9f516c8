--[[ answer – answers an ask, once, and wakes its worker.
Why a script   only one of several simultaneous answers may count, and a recorded answer that is not in the mailbox would leave its worker waiting for ever.
KEYS[1] record    hash               KEYS[2] events   stream declared
ARGV[1] header    json:
  ask              id
  key              digest of the caller's idempotency key, or of one made for this call
  asked            digest of the answer
  by               who answers, in the caller's words; absent: unknown
  seed             names of new wake-ups begin with it
  wakeupMs         how long a wake-up counts as sent
ARGV[2] answer    as the worker receives it, json                          ARGV[3] event    json
Returns {"ok", wakeups} | {"again", wakeups}: this key gave the same answer before | {"other"}: this key gave another answer before
        | {"answered", at, by} | {"expired", at} | {"withdrawn", at} | {"not_found"}
Builds  T:w:<id> and its keys, its root, T:s:<session>:cancelled; T:asks, T:ask:<id>, T:timers; T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake and T:wake of
        the worker's pool; T:nodes, T:pools.
Events  ask.answered. Writes nothing unless it returns "ok". ]]
local recordKey = KEYS[1]
local header, answer, event = readHeader(ARGV[1]), ARGV[2], ARGV[3]

local tag = tagOf(recordKey)
checkTexts(header, 'ask', 'key', 'asked', 'seed')
checkTextsIfAny(header, 'by')
checkNumbers(header, 'wakeupMs')
checkLast(event)
local ask = header.ask
local field = readFields(recordKey, 'worker', 'run', 'state', 'endedAt', 'by', 'key', 'asked', 'wakeups', 'session')
local worker, state, endedAt = field[1], field[3], field[4] or '0'
if not worker then return { 'not_found' } end
if state == 'answered' and field[6] == header.key then -- guard: an answer that is sent again is one answer
  if field[7] ~= header.asked then return { 'other' } end -- guard: a key that gave another answer says so
  return { 'again', field[8] or '' }
end
if state == 'answered' then return { 'answered', endedAt, field[5] or '' } end -- guard: an ask is answered once
if state == 'expired' then return { 'expired', endedAt } end -- guard: an ask that expired takes no answer

local owner = readRecord(workerKey(tag, worker))
if not owner.status then return { 'not_found' } end
checkRecord(workerKey(tag, worker), owner)
local plan = planMail(tag, worker, 'signals', signalMail('answer', ask, answer))
-- A cancel holds from its own script on, although another script withdraws the ask later.
local isOver = state or not plan or plan.open ~= '1' or plan.run ~= field[2] or readCancellation(tag, owner, worker) -- guard: an ask of a cancelled run takes no answer
local now = nowMs()
if isOver then return { 'withdrawn', state and endedAt or digits(now) } end
checkAskKeys(tag, workerKey(tag, worker), plan.session)

local woke = newWakes()
writeAskEnd(tag, worker, ask, 'answered', now, 'answer', answer, 'key', header.key, 'asked', header.asked, 'by', header.by or '')
writeMail(tag, plan, now, woke)
writeQueues(tag, woke)
local about = worker == rootOf(plan.session) and plan.session or (plan.session .. ' ' .. worker)
writeEvents(tag .. ':events', { about, event })
local wakeups = writeWakeupsOf(tag, woke.pools, header.seed, now, header.wakeupMs)
if wakeups ~= '' then redis.pcall('HSET', recordKey, 'wakeups', wakeups) end
return { 'ok', wakeups }
