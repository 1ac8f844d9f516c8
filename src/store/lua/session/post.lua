--[[ post – puts a message into a worker's mailbox and wakes the worker.
Why a script   a message accepted without a place in the run queue would be lost until someone else wrote.
KEYS[1] record    hash               KEYS[2] inbox     list   declared    KEYS[3] run      zset   declared
KEYS[4] events    stream declared    KEYS[5] idem     string
ARGV[1] header    json:
  worker           id
  idemMs           how long the idempotency key is known
  seed             names of new wake-ups begin with it
  wakeupMs         how long a wake-up counts as sent
  asked            digest of a mail that was sent under a key of its caller; else absent
  when             steer or interrupt: the run in progress takes it; absent: the next run does
ARGV[2] mail      ARGV[3] event    json
Returns {"ok", position, wakeups, pool, steers} | {"again", position, wakeups, pool, steers} | {"other", …}: the key sent another message before
        | {"not_found"} | {"terminal"} | {"session_finished", state} | {"mailbox_full", most}
        steers: "!" if a run in progress takes the message; else empty, even if it steers a run that has not begun
        pool: of the run queue into which the idle worker was put, if no wake-up was added for it; else empty
Builds  T:w:<root>; T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake and T:wake of the worker's pool; T:nodes, T:pools; tells T:cancel-notices of what steers.
Events  message.accepted. A known key gets the first answer again, as "again" or "other".
Writes nothing unless it returns "ok". ]]
local recordKey, idemKey = KEYS[1], KEYS[5]
local header, mail, event = readHeader(ARGV[1]), ARGV[2], ARGV[3]

local tag = tagOf(recordKey)
checkTexts(header, 'worker', 'seed')
checkTextsIfAny(header, 'asked', 'when')
checkNumbers(header, 'idemMs', 'wakeupMs')
checkLast(event)
local asked = header.asked or ''
local known, knownSteers, knownWakeups, knownPool, knownAsked = readAnswer(idemKey, '^(%d+)(!?) ?(%S*) ?(%S*) ?(.*)$')
if known then return { knownAsked == asked and 'again' or 'other', known, knownWakeups, knownPool, knownSteers } end -- guard: a key that posted another message before says so | idempotency key of post
local plan, refusal = planInput(tag, header.worker, mail, header.when)
if not plan then return refusal end
if header.idemMs == 0 then error('the header should have a number idemMs above 0', 0) end

plan.notices = tag .. ':cancel-notices'
local position, wakeups = writeInput(tag, plan, event, header.seed, header.wakeupMs)
local pool = wakeups == '' and plan.status == 'idle' and plan.pool or ''
local mustWait = waitsToBegin(plan.wait) -- guard: a run that waits at a gate or for a sibling is not in progress
local steers = plan.when and (plan.open == '1' or not (mustWait or plan.status == 'queued')) and '!' or '' -- guard: a run that has not begun is not in progress
local answer = position .. steers .. ' ' .. wakeups
if pool ~= '' or asked ~= '' then answer = answer .. ' ' .. pool end
if asked ~= '' then answer = answer .. ' ' .. asked end
redis.call('SET', idemKey, answer, 'PX', digits(header.idemMs))
return { 'ok', position, wakeups, pool, steers }
