--[[ fire – posts due timers, ends asks that expire, brings back workers of sessions that were resumed, lets waiting runs begin at gates that open, and
returns the notices that are to be sent.
Why a script   a timer that is removed but not posted would be lost; one that is posted but not removed would fire twice.
KEYS[1] timers    zset               KEYS[2] events   stream              KEYS[3] gates    zset
ARGV[1] batch         ARGV[2] seed         ARGV[3] wakeupMs         ARGV[4] told
Returns {fired, dueIn, wakeups, notices, guests}
        fired: how many timers were posted, 1 MiB of them at most, or one, and how many runs began
        dueIn: ms until the next timer or gate is due, or "none"
        notices: those that this node sends now, each followed by a space. A later call names in the argument told those it has sent, in the same form. If it
        does not, some node sends them after noticeMs, and after twice as long each further time, 16 minutes at most.
        guests: runs at gates of another partition, each behind the word for that partition: begins, from the first partition; in, waits, out or
        later, from the partition of the run. Behind waits are the numbers of its gates, as in the record
Builds  T:w:<id>, its timers, asks and signals lane, and that of its root; T:s:<session>:held; T:asks and T:ask:<id>; T:gate:<gate> and its in, waiting and begun;
        T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake, T:wake of its pool; T:nodes, T:pools.
Events  message.accepted for each timer message, ask.expired for each ask. ]]
local timersKey, eventsKey, gatesKey = KEYS[1], KEYS[2], KEYS[3]
local batch, seed, wakeupMs, told = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4]

local tag = tagOf(timersKey)
local now = nowMs()
local noticeMs, notices = 30000, ''
checkArguments(batch, wakeupMs)
checkLast(told)
for notice in string.gmatch(told, '%S+') do
  -- While a node tells of an end, the score of the notice is in the future. A notice that is due is therefore one of a later end.
  local isLater = tonumber(redis.call('ZSCORE', timersKey, notice) or now) <= now -- guard: a session that was retried while its notice was sent gets another notice
  if not isLater then redis.call('ZREM', timersKey, notice) end -- guard: a notice is sent once
end
-- A notice that nobody has told comes back ever more rarely: thousands may wait for a secret that no node has. Its score counts how often it has come
-- back: the fraction of its milliseconds is that number, in sixteenths.
local function whenAgain(notice)
  local times = tonumber(redis.call('ZSCORE', timersKey, notice)) % 1 * 16
  return string.format('%.4f', now + noticeMs * 2 ^ times + math.min(times + 1, 5) / 16) -- guard: a notice that nobody can tell comes back ever more rarely
end
local due = redis.call('ZRANGEBYSCORE', timersKey, '-inf', digits(now), 'LIMIT', 0, batch)
local woke = newWakes()
-- Reads what a timer needs of its worker, whose keys may be damaged: then the timer waits until they are mended, and holds up no other.
local function readTimer(worker, timer, record)
  checkSort('hash', rootKeyOf(tag, sessionOf(worker, redis.call('HGET', record, 'path1'))))
  if timer == 'resume' then
    checkSort('zset', heldKeyOf(tag, sessionOf(worker)))
    return redis.call('HEXISTS', record, 'status') == 1 and redis.call('HEXISTS', record, 'paused') == 0 -- guard: a session that is paused again keeps its workers
  end
  if timer == 'notify' or timer == 'notify:end' then return redis.call('HEXISTS', record, 'ended') == 1 end
  if string.find(timer, '^notify:') then return true end
  if timer == 'retry' then return (planMail(tag, worker, 'signals', '')) end
  local ask = string.match(timer, '^ask:(.*)$')
  if ask then
    local field = readFields(askKey(tag, ask), 'state', 'onExpiry')
    checkSort('zset', tag .. ':asks')
    checkSort('set', record .. ':asks')
    return not field[1] and field[2] and planMail(tag, worker, 'signals', signalMail('answer', ask, field[2])), ask -- guard: an ask that was answered does not expire
  end
  local value = redis.call('HGET', record .. ':timers', timer)
  return value and planMail(tag, worker, 'signals', signalMail('timer', timer, value))
end
local handled, bytes, bytesMost = 0, 0, 1048576
for index = 1, #due do
  local worker, timer = idIn(due[index]), behindId(due[index])
  local record = workerKey(tag, worker)
  local fine, plan, ask = pcall(readTimer, worker, timer, record)
  bytes = bytes + (timer == 'resume' and bytesMost / 2 or fine and plan and plan ~= true and #plan.text or 0)
  if handled > 0 and bytes > bytesMost then break end -- guard: a fire posts no more bytes than a script may
  handled = index
  if not fine then
    if not damageOf(plan) then error(plan, 0) end
    redis.call('ZADD', timersKey, digits(now + math.max(wakeupMs, 1)), due[index])
  elseif string.find(timer, '^notify') then
    -- A session that was retried meanwhile tells its next end. While this node tells it, no other node begins to.
    if plan then
      notices = notices .. due[index] .. ' '
      redis.call('ZADD', timersKey, whenAgain(due[index]), due[index])
    else
      redis.call('ZREM', timersKey, due[index])
    end
  elseif timer == 'resume' then
    redis.call('ZREM', timersKey, due[index])
    if plan then writeReturned(tag, sessionOf(worker), now, woke) end
  elseif timer == 'retry' then
    redis.call('ZREM', timersKey, due[index])
    if plan and plan.status == 'parked' and plan.wait == 'retry' then
      writeWokenRecord(tag, plan, now, woke)
    end
  else
    redis.call('ZREM', timersKey, due[index]) -- guard: a timer is taken out as it fires
    if plan and ask then
      writeAskEnd(tag, worker, ask, 'expired', now)
      writeMail(tag, plan, now, woke)
      writeEvents(eventsKey, { subjectOf(plan.session, worker), '[["ask.expired",{"id":"' .. ask .. '"}]]' })
    elseif plan then
      redis.call('HDEL', record .. ':timers', timer)
      writeMail(tag, plan, now, woke)
      writeEvents(eventsKey, { subjectOf(plan.session, worker), '[["message.accepted",{"kind":"timer","id":"' .. timer .. '"}]]' })
    end
  end
  writeQueues(tag, woke)
end
-- A gate that is damaged waits until it is mended, and holds up no other.
local function admitAt(gate)
  local fine, began = pcall(writeAdmitted, tag, gate, now, woke)
  writeQueues(tag, woke)
  if fine then return began end
  if not damageOf(began) then error(began, 0) end
  redis.call('ZADD', gatesKey, digits(now + gateLookMs), gate)
  return 0
end
-- Where another program wrote over the list of gates, timers fire all the same.
local function readGatesList(...)
  local list = redis.pcall(...)
  return list.err and {} or list
end
local fired, gatesMost, beganMost = handled, 20, 128
-- A word is sent to the other partition again and again, until it has answered. The state of a waiting or running guest is repeated now and then,
-- because the other partition may have lost it.
local guests, guestAgainMs = {}, { begins = 2000, out = 2000, later = 2000, waits = gateLookMs, ['in'] = 10 * gateLookMs }
local function tellOf(entry, text)
  local standing = 'begins'
  if entry == text then
    local fine, found = pcall(standingOf, tag, readGuest(text))
    standing = fine and found or 'later'
  end
  local numbers = standing == 'waits' and redis.call('HGET', workerKey(tag, readGuest(text).worker), 'gateNumbers')
  guests[#guests + 1] = numbers and (standing .. ' ' .. numbers) or standing
  guests[#guests + 1] = text
  redis.call('ZADD', gatesKey, digits(now + guestAgainMs[standing]), entry)
end
local opening = readGatesList('ZRANGEBYSCORE', gatesKey, '-inf', digits(now), 'LIMIT', 0, gatesMost)
for index = 1, #opening do
  if fired - handled >= beganMost then break end -- guard: a fire lets no more runs begin than a script may
  local entry = opening[index]
  local text = string.match(entry, '^> (.*)$') or entry
  if readGuest(text) then tellOf(entry, text) else fired = fired + admitAt(entry) end
end
local wakeups = writeWakeupsOf(tag, woke.pools, seed, now, wakeupMs)
local first = redis.call('ZRANGE', timersKey, 0, 0, 'WITHSCORES')
local firstGate = readGatesList('ZRANGE', gatesKey, 0, 0, 'WITHSCORES')
local next, dueIn = math.min(tonumber(first[2] or math.huge), tonumber(firstGate[2] or math.huge)), 'none'
if next < math.huge then dueIn = digits(math.max(0, next - now)) end
return { fired, dueIn, wakeups, notices, guests }
