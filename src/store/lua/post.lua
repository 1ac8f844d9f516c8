--[[ post – puts a message into a worker's mailbox and wakes the worker.
Why a script   a message accepted without a place in the run queue would be lost until someone else wrote.
KEYS[1] record    hash               KEYS[2] user     list   declared    KEYS[3] run      zset   declared
KEYS[4] events    stream             KEYS[5] idem     string
ARGV[1] worker        ARGV[2] mail         ARGV[3] idemMs       ARGV[4] seed         ARGV[5] bellMs
ARGV[6] event         ARGV[7] eventsKept
Returns {"ok", position, bells} | {"again", position, bells} | {"not_found"} | {"terminal"} | {"session_finished", state} | {"mailbox_full", most}
Builds  the session's hash, T:bells, T:busy and T:slots of the worker's pool.
Events  message.accepted. A known key gets the first answer again, as "again". Writes nothing unless it returns "ok". ]]
local recordKey, eventsKey, idemKey = KEYS[1], KEYS[4], KEYS[5]
local worker, mail, idemMs, seed, bellMs, event, eventsKept = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]

local tag = tagOf(recordKey)
local known = redis.call('GET', idemKey)
if known then
  local position, knownBells = string.match(known, '^(%d+) ?(.*)$')
  return { 'again', position, knownBells }
end
local plan, why = planMail(tag, worker, 'user', mail)
if not plan then return { why } end
local session = redis.call('HMGET', sessionKey(tag, plan.session), 'state', 'mailboxMax', 'score')
if session[1] ~= 'active' then return { 'session_finished', session[1] or 'pruned' } end
if plan.length + 1 > tonumber(session[2]) then return { 'mailbox_full', session[2] } end

local now = nowMs()
local scores, pools = newScores(), {}
scores.last[plan.session] = session[3]
local position = digits(writeMail(tag, plan, now, scores, pools))
writeScores(tag, scores)
redis.call('XADD', eventsKey, 'MAXLEN', '~', eventsKept, '*', 'session', plan.session, 'worker', worker, 'events', event)
local bells = ''
if pools[plan.pool] then bells = writeBells(tag, plan.pool, seed, now, bellMs, bellsMost) end
redis.call('SET', idemKey, position .. ' ' .. bells, 'PX', idemMs)
return { 'ok', position, bells }
