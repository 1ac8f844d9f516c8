--[[ post – puts a message into a worker's mailbox and wakes the worker.
Why a script   a message accepted without a place in the run queue would be lost until someone else wrote.
KEYS[1] record    hash               KEYS[2] inbox     list   declared    KEYS[3] run      zset   declared
KEYS[4] events    stream declared    KEYS[5] idem     string
ARGV[1] worker        ARGV[2] mail         ARGV[3] idemMs       ARGV[4] seed         ARGV[5] wakeupMs
ARGV[6] event         ARGV[7] asked        digest of a mail that was sent under a key of its caller; else empty
Returns {"ok", position, wakeups, pool} | {"again", position, wakeups, pool} | {"other", position, wakeups, pool}: the key sent something else
        | {"not_found"} | {"terminal"} | {"session_finished", state} | {"mailbox_full", most}
        pool: the one in whose run queue the worker was put, if it was idle and no wake-up was added for it; else empty
Builds  T:w:<root>; T:wakeups, T:busy, T:slots, T:per-wake and T:wake of the worker's pool; T:nodes.
Events  message.accepted. A known key gets the first answer again, as "again" or "other".
Writes nothing unless it returns "ok". ]]
local recordKey, idemKey = KEYS[1], KEYS[5]
local worker, mail, idemMs, seed, wakeupMs, event, asked = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]

local tag = tagOf(recordKey)
local known, knownWakeups, knownPool, knownAsked = readAnswer(idemKey, '^(%d+) ?(%S*) ?(%S*) ?(.*)$')
-- Versions before this one kept no digest: of what they were sent nobody can tell whether it was this.
local isOther = knownAsked ~= '' and knownAsked ~= asked
if known then return { isOther and 'other' or 'again', known, knownWakeups, knownPool } end
local plan, refusal = planInput(tag, worker, mail)
if not plan then return refusal end
checkArguments(wakeupMs, tonumber(idemMs) - 1)
checkLast(asked)

local position, wakeups = writeInput(tag, plan, event, seed, wakeupMs)
local pool = wakeups == '' and plan.status == 'idle' and plan.pool or ''
local answer = position .. ' ' .. wakeups
if pool ~= '' or asked ~= '' then answer = answer .. ' ' .. pool end
if asked ~= '' then answer = answer .. ' ' .. asked end
redis.call('SET', idemKey, answer, 'PX', idemMs)
return { 'ok', position, wakeups, pool }
