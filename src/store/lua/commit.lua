--[[ commit – records a step, or the end of a turn, exactly once; at the end of a turn it claims the slot's next worker.
Why a script   history, state, mail, spawns, the run's outcome and the slot's next claim must happen together or not at all.
KEYS[1] record    hash               KEYS[2] log      list               KEYS[3] session   hash
KEYS[4] cancelled set                KEYS[5] control  list               KEYS[6] family    list
KEYS[7] user      list               KEYS[8] stateKey string             KEYS[9] failureKey string
KEYS[10] leases   zset               KEYS[11] run     zset   declared    KEYS[12] bells    zset
KEYS[13] busy     zset               KEYS[14] slots   string declared    KEYS[15] grants   hash   declared
KEYS[16] events   stream             KEYS[17] timers  zset               KEYS[18] workers  list
ARGV[1] worker        ARGV[2] token        ARGV[3] sequence     of this commit under the token, from 1
ARGV[4] version       the version this commit builds on
ARGV[5] fsm           state of the run     ARGV[6] open         1 while a run is in progress
ARGV[7] attempt       0, or "<tries> <lane>:<place>" of a message that waits for its retry
ARGV[8] controlUsed   ARGV[9] userUsed     mails consumed from the head of the lane
ARGV[10] familyUsed   positions consumed, comma-separated       ARGV[11] familySeen   length for ever the node has seen
ARGV[12] stateMode    keep | inline | key  ARGV[13] state       json
ARGV[14] failure      empty: keep; - : clear; else json
ARGV[15] outcome      empty, or completed | failed | cancelled: the run ends     ARGV[16] result      mail for the parent
ARGV[17] dead         evidence json of a quarantine: a consumed input goes to the dead letters with it, not into the history
ARGV[18] wait         empty: the turn goes on; else what the worker waits for    ARGV[19] retryMs
ARGV[20] event        json                 ARGV[21] deadKept    length of the stream of dead letters
ARGV[22] awaits       calls whose results are still to come     ARGV[23] awaiting   how many those are, or were when the run ended
ARGV[24] timersOpen   timers of the run that have not been received
ARGV[25] leaseMs      of the next claim: renew alone keeps leases               ARGV[26] bell        ARGV[27] bellMs
ARGV[28] seed         names of new bells   ARGV[29] nonce       of the claim that follows; empty: none (leave)
ARGV[30] slot         ARGV[31] node        ARGV[32] kinds       ARGV[33] maySuspect   ARGV[34] wasBusy    ARGV[35] keepBell
ARGV[36] mailBytes    ARGV[37] suspectAfter ARGV[38] poisonAfter
ARGV[39] entries      count of history entries, then each; then the count of spawns, each as id, kind, name, pool, detached, call,
                      grant (empty: none), mail; then of sends, each as worker, mail; then of timers, each as id, ms, json
Returns {"ok", version, bells, claimed} | {"fenced", claimed} | {"conflict", version} | {"cancelled"} | {"refused", list}
Builds  T:w:<id> and its keys of recipients, children, the parent and the next worker; T:s:<session> of recipients; T:dead;
        T:cancelling; T:share.
Events  what the node says happened, then session.completed and its like. Writes nothing unless it returns "ok". ]]
local recordKey, logKey, sessionHash, cancelledKey, controlKey, familyKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local userKey, stateKey, failureKey, leasesKey, bellsKey, busyKey = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[12], KEYS[13]
local eventsKey, timersKey, workersKey = KEYS[16], KEYS[17], KEYS[18]
local worker, token, sequence, version = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local fsm, open, attempt, controlUsed, userUsed = ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local familyUsed, familySeen, stateMode, state, failure = ARGV[10], tonumber(ARGV[11]), ARGV[12], ARGV[13], ARGV[14]
local outcome, result, dead, wait, retryMs = ARGV[15], ARGV[16], ARGV[17], ARGV[18], ARGV[19]
local event, deadKept, awaits, awaiting, timersOpen = ARGV[20], ARGV[21], ARGV[22], tonumber(ARGV[23]), ARGV[24]
local leaseMs, bell, bellMs, seed, nonce, slot, node = tonumber(ARGV[25]), ARGV[26], tonumber(ARGV[27]), ARGV[28], ARGV[29], ARGV[30], ARGV[31]
local kinds, maySuspect, wasBusy, keepBell = ARGV[32], ARGV[33], ARGV[34], ARGV[35]
local mailBytes, suspectAfter, poisonAfter = tonumber(ARGV[36]), tonumber(ARGV[37]), tonumber(ARGV[38])
local lists, cursor = ARGV, 39

local tag = tagOf(recordKey)
local turnEnds = wait ~= ''
local record = readHash(recordKey)
local pool = record.pool or 'default'
local claim = {
  pool = pool, bell = bell, node = node, slot = slot, nonce = nonce, kinds = kinds, maySuspect = maySuspect, wasBusy = wasBusy,
  keepBell = keepBell, leaseMs = leaseMs, bellMs = bellMs, mailBytes = mailBytes, suspectAfter = suspectAfter,
  poisonAfter = poisonAfter,
}

-- 1. May this node write, and has it not written this already?
local function claimedBefore()
  return nonce ~= '' and sameGrant(tag, claim) or { 'none' }
end
local commitToken, commitSequence = string.match(record.commit or '', '^(.*):(%d+)$')
if commitToken == token and sequence <= tonumber(commitSequence) then
  return { 'ok', record.version, record.bells or '', claimedBefore() }
end
if record.token ~= token then return { 'fenced', claimedBefore() } end
checkArguments(sequence, controlUsed, userUsed, familySeen, awaiting, leaseMs, bellMs, mailBytes, suspectAfter, poisonAfter, tonumber(deadKept))
if wait == 'retry' then checkArguments(tonumber(retryMs)) end
checkRecord(recordKey, record)
if recordKey ~= workerKey(tag, worker) then error('the first key should be that of worker ' .. worker, 0) end
if (record.version or '0') ~= version then return { 'conflict', record.version or '0' } end
local session = sessionOf(worker, record)
local hit = cancelHit(tag, session, record, worker)
if hit and outcome ~= 'cancelled' then return { 'cancelled' } end

-- 2. Check all that would be written, without writing.
local function take()
  cursor = cursor + 1
  return lists[cursor - 1]
end
local entries, spawns, sends, timers, refused = {}, {}, {}, {}, {}
local function takeCount()
  local count = tonumber(take())
  checkArguments(count)
  if count > #lists then error('the lists at the end should be as long as their counts say', 0) end
  return count
end
for index = 1, takeCount() do entries[index] = take() end
for index = 1, takeCount() do
  spawns[index] = { id = take(), kind = take(), name = take(), pool = take(), detached = take(), call = take(), grant = take(),
    mails = { take() } }
end
for index = 1, takeCount() do sends[index] = { worker = take(), mail = take() } end
for index = 1, takeCount() do
  timers[index] = { id = take(), ms = tonumber(take()), value = take() }
  checkArguments(timers[index].ms)
end
if cursor ~= #lists + 1 then error('the lists at the end should be as long as their counts say', 0) end

-- Results that are taken stand in the lane, or are the first of it.
local function checkFamily()
  local taken, length = tonumber(record.family or '0'), lengthOf(familyKey)
  for position in string.gmatch(familyUsed, '%d+') do
    local place = tonumber(position) - taken
    if place < 0 or place >= length then error('position ' .. position .. ' should be one of the family lane of ' .. recordKey, 0) end
  end
end
local depth, run = tonumber(record.depth or '0'), record.run or '1'
local born, bornById, sessionFields = {}, {}, nil
local known = 0
for from = 1, #spawns, 1000 do
  local keys = {}
  for index = from, math.min(from + 999, #spawns) do
    local childKey = workerKey(tag, spawns[index].id)
    keys[#keys + 1] = childKey
    keys[#keys + 1] = childKey .. laneKeys.user
  end
  known = known + redis.call('EXISTS', unpack(keys))
end
for index = 1, #spawns do
  local spawn = spawns[index]
  -- A child that is there already was spawned by the same call before: it is looked for one by one only when there is one.
  if known == 0 or redis.call('EXISTS', workerKey(tag, spawn.id)) == 0 then
    born[#born + 1] = spawn
    bornById[spawn.id] = spawn
  end
end
local granted = record.grant and grantOf(record.grant)
for index = 1, granted and #born or 0 do
  -- What the worker may not use itself it may not give (I13).
  if not mayGive(granted, born[index]) then refused[#refused + 1] = { 'grant_exceeded', '0', born[index].id } end
end
if #born > 0 then
  local limits = limitsOf(record)
  sessionFields = redis.call('HMGET', sessionHash, 'workers', 'score')
  if depth + 1 > limits.depth then
    refused[#refused + 1] = { 'depth_exceeded', digits(limits.depth), born[1].id }
  elseif awaiting > limits.children then
    refused[#refused + 1] = { 'children_exceeded', digits(limits.children), born[1].id }
  elseif tonumber(sessionFields[1] or '1') + #born > limits.workers then
    refused[#refused + 1] = { 'workers_exceeded', digits(limits.workers), born[1].id }
  end
end
local mails, inbound = {}, {}
for index = 1, #sends do
  local send = sends[index]
  local newborn = bornById[send.worker]
  if newborn then
    table.insert(newborn.mails, send.mail)
    local most = limitsOf(record).mailbox
    if #newborn.mails == most + 1 then refused[#refused + 1] = { 'mailbox_full', digits(most), send.worker } end
  else
    local plan, why = planMail(tag, send.worker, 'user', send.mail)
    local most = '0'
    if plan then
      local limits = limitsOf(plan)
      most = digits(limits.mailbox)
      inbound[send.worker] = (inbound[send.worker] or plan.length) + 1
      if sessionState(tag, plan.session) ~= 'active' then
        why = 'session_finished'
      elseif inbound[send.worker] > limits.mailbox then
        why = 'mailbox_full'
      end
    end
    if why then
      refused[#refused + 1] = { why, most, send.worker }
    else
      mails[#mails + 1] = plan
    end
  end
end
if #refused > 0 then return { 'refused', refused } end
local parentPlan = nil
if outcome ~= '' and result ~= '' and record.parent and run == '1' and record.parentRun ~= '-' then
  local plan = planMail(tag, record.parent, 'family', result)
  if plan and plan.open == '1' and plan.run == record.parentRun then parentPlan = plan end
end

local hadTimers = (record.timersOpen or '0') ~= '0'
if controlUsed > 0 or (outcome ~= '' and hadTimers) then checkSort('list', controlKey) end
if userUsed > 0 then checkSort('list', userKey) end
local waitsForOne = string.find(wait, ':', 1, true)
if familyUsed ~= '' or awaiting > 0 or waitsForOne then checkFamily() end
if dead ~= '' then checkSort('stream', tag .. ':dead') end
if #timers > 0 or wait == 'retry' or (outcome ~= '' and (hadTimers or (record.attempt or '0') ~= '0')) then
  checkSort('zset', timersKey)
  checkSort('hash', recordKey .. ':timers')
end
for index = 1, known > 0 and #born or 0 do checkSort('list', workerKey(tag, born[index].id) .. laneKeys.user) end
if #born > 0 then checkSort('list', workersKey) end
if outcome ~= '' and awaiting > 0 then
  checkSort('set', cancelledKey, tag .. ':cancelling')
  checkMarks(sessionHash)
end

-- 3. Write: history, mail taken, state, failure. Fields that are mostly empty exist only when they were ever needed.
local changes = {}
local function change(name, value, absent)
  if (record[name] or absent) ~= value then
    changes[#changes + 1] = name
    changes[#changes + 1] = value
  end
end
local last = '0'
for from = 1, #entries, 1000 do
  -- The first write, so it may fail, also because Redis takes none just now; a log that is none is named.
  local length = redis.pcall('RPUSH', logKey, unpack(entries, from, math.min(from + 999, #entries)))
  if type(length) == 'table' then
    checkSort('list', logKey)
    return length
  end
  last = digits(length - 1)
end
local control, family, user = tonumber(record.control or '0'), tonumber(record.family or '0'), tonumber(record.user or '0')
if controlUsed > 0 then redis.call('LPOP', controlKey, controlUsed) end
control = control + controlUsed
if dead ~= '' then
  -- Without an input that is put aside, the evidence alone: what was killed by is a step that is recorded.
  local letter = { 'session', session, 'worker', worker, 'evidence', dead }
  if userUsed > 0 then
    letter[#letter + 1] = 'mail'
    letter[#letter + 1] = redis.call('LINDEX', userKey, 0) or ''
  end
  redis.call('XADD', tag .. ':dead', 'MAXLEN', '~', deadKept, '*', unpack(letter))
end
if userUsed == 1 then redis.call('LPOP', userKey) elseif userUsed > 1 then redis.call('LPOP', userKey, userUsed) end
user = user + userUsed
if familyUsed ~= '' then
  -- Results are consumed in call order, which need not be the order they came in: those in the middle are emptied, and go when
  -- all before them have gone.
  local ahead, middle = 0, {}
  for position in string.gmatch(familyUsed, '%d+') do middle[tonumber(position) - family] = true end
  while middle[ahead] do
    middle[ahead] = nil
    ahead = ahead + 1
  end
  for place in pairs(middle) do redis.call('LSET', familyKey, place, '') end
  if ahead > 0 then
    redis.call('LPOP', familyKey, ahead)
    family = family + ahead
    while redis.call('LINDEX', familyKey, 0) == '' do
      redis.call('LPOP', familyKey)
      family = family + 1
    end
  end
end
change('version', digits(tonumber(version) + 1))
change('fsm', fsm, 'Idle')
change('open', open, '0')
change('commit', token .. ':' .. digits(sequence))
change('alone', '0', '0')
change('attempt', attempt, '0')
change('awaits', awaits, '')
change('timersOpen', timersOpen, '0')
if stateMode == 'inline' then
  if record.data == '@' then redis.call('DEL', stateKey) end
  change('data', state)
elseif stateMode == 'key' then
  redis.call('SET', stateKey, state)
  change('data', '@')
end
if failure == '-' then
  if record.failed == '1' then redis.call('DEL', failureKey) end
  change('failed', '0', '0')
elseif failure ~= '' then
  redis.call('SET', failureKey, failure)
  change('failed', '1')
end

-- 4. Children, sends, timers.
local now, woke = nil, newWakes()
if turnEnds or #born > 0 or #mails > 0 or #timers > 0 or outcome ~= '' then now = nowMs() end
if #born > 0 then
  local ids, score = {}, sessionFields[2]
  local parent = { id = worker, record = record, session = session, run = run, depth = depth }
  for index = 1, #born do
    local spawn = born[index]
    writeChild(tag, spawn, parent)
    score = writeQueued(tag, spawn.pool, spawn.id, score, now)
    woke.pools[spawn.pool] = true
    ids[index] = spawn.id
  end
  for from = 1, #ids, 1000 do
    redis.call('RPUSH', workersKey, unpack(ids, from, math.min(from + 999, #ids)))
  end
  redis.call('HSET', sessionHash, 'workers', digits(tonumber(sessionFields[1] or '1') + #born))
  woke.last[session] = score
  woke.touched[session] = true
end
if #spawns > 0 and outcome == '' then change('calls', spawns[#spawns].call) end
for index = 1, #mails do writeMail(tag, mails[index], now, woke) end
if outcome == '' then
  for index = 1, #timers do
    redis.call('HSET', recordKey .. ':timers', timers[index].id, timers[index].value)
    redis.call('ZADD', timersKey, digits(now + timers[index].ms), worker .. ':' .. timers[index].id)
  end
end

-- 5. The end of a run: its result goes to the parent or the session; what still runs below it is cancelled.
local ended = nil
if outcome ~= '' then
  change('run', digits(tonumber(run) + 1))
  change('calls', '0', '0')
  local controlLeft, familyLeft = writeRunLeftovers(tag, worker, record, awaiting > 0)
  control, family = control + controlLeft, family + familyLeft
  if awaiting > 0 then
    redis.call('SADD', cancelledKey, worker .. ':' .. run)
    redis.call('HINCRBY', sessionHash, 'marks', 1)
    redis.call('SADD', tag .. ':cancelling', session)
  end
  if parentPlan then writeMail(tag, parentPlan, now, woke) end
  if not record.parent then
    if record.mode ~= 'conversation' and outcome ~= 'cancelled' and redis.call('EXISTS', userKey) == 0 then
      ended = outcome
      redis.call('HSET', sessionHash, 'ended', outcome .. ' ' .. digits(now) .. ' ' .. run .. ' ' .. last)
    else
      redis.call('HSET', sessionHash, 'result:' .. run, outcome .. ' ' .. last)
    end
  end
end
change('control', digits(control), '0')
change('family', digits(family), '0')
change('user', digits(user), '0')

-- 6. The end of the turn: is a message there that wakes it? Then it is queued again, in this same script.
if turnEnds then
  local again = false
  if hit == 'whole' then
    -- Cancelled for good: its mail is kept for reading, and nothing of it runs again.
    wait = 'any'
  elseif wait == 'retry' then
    redis.call('ZADD', timersKey, digits(now + tonumber(retryMs)), worker .. ':retry')
  elseif wait == 'again' then
    again, wait = ended == nil, 'any'
  elseif wait == 'any' then
    again = ended == nil and redis.call('EXISTS', userKey) == 1
    if not again and open == '1' then again = redis.call('EXISTS', controlKey, familyKey) > 0 end
  else
    again = redis.call('EXISTS', controlKey) == 1
    if not again and waitsForOne then
      -- An ended run may have dropped results that this turn has not seen: then all that is there is unseen.
      local seen = math.max(familySeen, family)
      local unseen = redis.call('LRANGE', familyKey, seen - family, -1)
      for index = 1, #unseen do
        if wakes('parked', wait, 'family', unseen[index], seen + index) then again = true end
      end
    end
  end
  change('token', '')
  change('wait', wait, 'any')
  redis.pcall('ZREM', leasesKey, worker)
  if again then
    change('state', 'queued')
    writeWoken(tag, { id = worker, session = session, pool = pool }, now, woke)
  elseif hit == 'whole' then
    change('state', 'terminal')
  else
    change('state', (open == '1' or wait == 'retry') and 'parked' or 'idle')
  end
end
change('bells', '', '')
writeScores(tag, woke)
redis.call('HSET', recordKey, unpack(changes))
if event ~= '' or ended then
  local facts = { 'session', session }
  local function tell(name, value)
    facts[#facts + 1] = name
    facts[#facts + 1] = value
  end
  -- What the session's end says already is not said twice.
  if not (ended and (event == '' or event == '[["run.completed"]]')) then tell('events', event) end
  if record.parent then tell('worker', worker) end
  if ended then
    tell('ended', ended .. ' ' .. last)
    -- A small result travels with the event: who waits for it need not ask for it.
    if #entries > 0 and #entries[#entries] <= 256 then tell('result', entries[#entries]) end
  end
  redis.pcall('XADD', eventsKey, '*', unpack(facts))
end

-- 7. The slot's next worker, then the bell rule for every pool that got work.
local claimed = { 'none' }
if turnEnds and nonce ~= '' then
  -- A key that may not be touched just now (a slot that migrates) must not undo what was written above.
  local fine, answer = pcall(claimNext, tag, claim, now)
  claimed = fine and answer or { 'empty' }
  if claimed[1] == 'unfit' then woke.pools[pool] = true end
elseif turnEnds and bell ~= '' then
  redis.pcall('ZREM', bellsKey, bell)
  if wasBusy == '1' then redis.pcall('ZREM', busyKey, bell) end
  woke.pools[pool] = true
end
local bells = writeBellsOf(tag, woke.pools, seed, now, bellMs)
if bells ~= '' then redis.call('HSET', recordKey, 'bells', bells) end
return { 'ok', digits(tonumber(version) + 1), bells, claimed }
