--[[ commit – records a step, or the end of a turn, exactly once; at the end of a turn it claims the slot's next worker.
Why a script   history, state, mail, spawns, the run's outcome and the slot's next claim must happen together or not at all.
KEYS[1] record    hash               KEYS[2] log      list               KEYS[3] session   hash
KEYS[4] cancelled set    declared    KEYS[5] control  list               KEYS[6] family    list
KEYS[7] user      list               KEYS[8] stateKey string             KEYS[9] failureKey string
KEYS[10] leases   zset               KEYS[11] run     zset   declared    KEYS[12] bells    zset
KEYS[13] busy     zset   declared    KEYS[14] slots   string declared    KEYS[15] grants   hash   declared
KEYS[16] events   stream             KEYS[17] timers  zset               KEYS[18] workers  list
ARGV[1] worker        ARGV[2] token        ARGV[3] sequence     of this commit under the token, from 1
ARGV[4] version       the version this commit builds on
ARGV[5] fsm           state of the run     ARGV[6] open         1 while a run is in progress
ARGV[7] attempt       tries of the message at the head            ARGV[23] awaits       calls whose results are still to come
ARGV[8] controlUsed   ARGV[9] userUsed     mails consumed from the head of the lane
ARGV[10] familyUsed   positions consumed, comma-separated       ARGV[11] familySeen   length for ever the node has seen
ARGV[12] stateMode    keep | inline | key  ARGV[13] state       json
ARGV[14] failure      empty: keep; - : clear; else json
ARGV[15] outcome      empty, or completed | failed | cancelled: the run ends     ARGV[16] result      mail for the parent
ARGV[17] dead         evidence json: the consumed input goes to the dead letters, not into the history
ARGV[18] wait         empty: the turn goes on; else what the worker waits for    ARGV[19] retryMs
ARGV[20] event        json                 ARGV[21] eventsKept  ARGV[22] deadKept
ARGV[24] timersOpen   timers of the run that have not been received
ARGV[25] leaseMs      of the next claim    ARGV[26] bell        ARGV[27] bellMs
ARGV[28] seed         names of new bells   ARGV[29] nonce       of the claim that follows; empty: none (leave)
ARGV[30] slot         ARGV[31] node        ARGV[32] kinds       ARGV[33] maySuspect   ARGV[34] wasBusy
ARGV[35] mailBytes    ARGV[36] suspectAfter ARGV[37] poisonAfter
ARGV[38] entries      count of history entries, then each; then the count of spawns, each as id, kind, name, pool, detached, call,
                      mail; then of sends, each as worker, mail; then of timers, each as id, ms, json
Returns {"ok", version, bells, claimed} | {"fenced", claimed} | {"conflict", version} | {"cancelled"} | {"refused", list}
Builds  the keys of recipients, children, the parent and the next worker; T:dead; T:cancelling; T:s:<session> of recipients.
Events  what the node says happened, then session.completed and its like. Writes nothing unless it returns "ok". ]]
local recordKey, logKey, sessionKeyName, controlKey, familyKey = KEYS[1], KEYS[2], KEYS[3], KEYS[5], KEYS[6]
local userKey, stateKey, failureKey, leasesKey, bellsKey = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[12]
local eventsKey, timersKey, workersKey = KEYS[16], KEYS[17], KEYS[18]
local worker, token, sequence, version = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local fsm, open, attempt, controlUsed, userUsed = ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local familyUsed, familySeen, stateMode, state, failure = ARGV[10], tonumber(ARGV[11]), ARGV[12], ARGV[13], ARGV[14]
local outcome, result, dead, wait, retryMs = ARGV[15], ARGV[16], ARGV[17], ARGV[18], ARGV[19]
local event, eventsKept, deadKept, awaits, timersOpen = ARGV[20], ARGV[21], ARGV[22], ARGV[23], ARGV[24]
local leaseMs, bell, bellMs, seed = tonumber(ARGV[25]), ARGV[26], tonumber(ARGV[27]), ARGV[28]
local claim = {
  nonce = ARGV[29], slot = ARGV[30], node = ARGV[31], kinds = ARGV[32], maySuspect = ARGV[33], wasBusy = ARGV[34],
  mailBytes = tonumber(ARGV[35]), suspectAfter = tonumber(ARGV[36]), poisonAfter = tonumber(ARGV[37]),
  leaseMs = leaseMs, bell = bell, bellMs = bellMs,
}
local lists, cursor = ARGV, 38
local function take()
  cursor = cursor + 1
  return lists[cursor - 1]
end

-- 1. May this node write, and has it not written this already?
local tag = tagOf(recordKey)
local field = redis.call('HMGET', recordKey, 'token', 'commit', 'version', 'session', 'run', 'history', 'pool', 'parent', 'parentRun',
  'call', 'mode', 'children', 'calls', 'control', 'family', 'user', 'depth', 'awaits', 'failed', 'bells', 'timersOpen', 'starts', 'alone', 'attempt', 'wait')
local session, run, pool = field[4], field[5], field[7]
claim.pool = pool
local now = nowMs()
local commitToken, commitSequence = string.match(field[2] or '', '^(.*):(%d+)$')
if commitToken == token and sequence <= tonumber(commitSequence) then
  local claimed = claim.nonce ~= '' and sameGrant(tag, claim) or { 'none' }
  return { 'ok', field[3], field[20] or '', claimed }
end
if field[1] ~= token then
  local claimed = claim.nonce ~= '' and pool and sameGrant(tag, claim) or { 'none' }
  return { 'fenced', claimed }
end
if field[3] ~= version then return { 'conflict', field[3] } end
local depth = tonumber(field[17])
local path = readPath(recordKey, depth)
local hit = cancelHit(tag, session, path, worker, run)
if hit and outcome ~= 'cancelled' then return { 'cancelled' } end

-- 2. Check all that would be written, without writing.
local entries, spawns, sends, timers, refused = {}, {}, {}, {}, {}
for index = 1, tonumber(take()) do entries[index] = take() end
for index = 1, tonumber(take()) do
  spawns[index] = { id = take(), kind = take(), name = take(), pool = take(), detached = take(), call = take(), mail = take() }
end
for index = 1, tonumber(take()) do sends[index] = { worker = take(), mail = take() } end
for index = 1, tonumber(take()) do timers[index] = { id = take(), ms = tonumber(take()), value = take() } end

local limits, children = nil, tonumber(field[12] or '0')
if #spawns > 0 or #sends > 0 then
  limits = redis.call('HMGET', sessionKeyName, 'state', 'workers', 'workersMax', 'childrenMax', 'depthMax', 'mailboxMax', 'score')
end
local born, joining = {}, 0
for index = 1, #spawns do
  local spawn = spawns[index]
  if redis.call('EXISTS', workerKey(tag, spawn.id)) == 0 then
    born[#born + 1] = spawn
    if spawn.detached == '0' then joining = joining + 1 end
  end
end
if #born > 0 then
  if depth + 1 > tonumber(limits[5]) then
    refused[#refused + 1] = { 'depth_exceeded', limits[5], born[1].id }
  elseif children + joining > tonumber(limits[4]) then
    refused[#refused + 1] = { 'children_exceeded', limits[4], born[1].id }
  elseif tonumber(limits[2]) + #born > tonumber(limits[3]) then
    refused[#refused + 1] = { 'workers_exceeded', limits[3], born[1].id }
  end
end
local mails = {}
for index = 1, #sends do
  local plan, why = planMail(tag, sends[index].worker, 'user', sends[index].mail)
  if plan then
    local host = limits
    if plan.session ~= session then
      host = redis.call('HMGET', sessionKey(tag, plan.session), 'state', 'workers', 'workersMax', 'childrenMax', 'depthMax', 'mailboxMax')
    end
    if host[1] ~= 'active' then
      why = 'session_finished'
    elseif plan.length + 1 > tonumber(host[6]) then
      why = 'mailbox_full'
    end
    if why then
      refused[#refused + 1] = { why, host[6], sends[index].worker }
    else
      mails[#mails + 1] = plan
    end
  else
    for number = 1, #born do
      if born[number].id == sends[index].worker then 
        why = nil
        local more = born[number].more or {}
        more[#more + 1] = sends[index].mail
        born[number].more = more
      end
    end
    if why then refused[#refused + 1] = { why, '0', sends[index].worker } end
  end
end
if #refused > 0 then return { 'refused', refused } end
local parentPlan = nil
if outcome ~= '' and result ~= '' and field[8] and run == '1' and field[9] ~= '-' then
  local plan = planMail(tag, field[8], 'family', result)
  if plan and plan.open == '1' and plan.run == field[9] then parentPlan = plan end
end

-- 3. Write: history, mail taken, state, failure.
local scores, pools = newScores(), {}
local history = tonumber(field[6] or '0')
if #entries > 0 then
  for from = 1, #entries, 1000 do
    redis.call('RPUSH', logKey, unpack(entries, from, math.min(from + 999, #entries)))
  end
  history = history + #entries
end
local control, family, user = tonumber(field[14] or '0'), tonumber(field[15] or '0'), tonumber(field[16] or '0')
if controlUsed > 0 then redis.call('LPOP', controlKey, controlUsed) end
control = control + controlUsed
if dead ~= '' and userUsed > 0 then
  local head = redis.call('LINDEX', userKey, 0)
  redis.call('XADD', tag .. ':dead', 'MAXLEN', '~', deadKept, '*', 'session', session, 'worker', worker, 'mail', head, 'evidence', dead)
end
if userUsed > 0 then redis.call('LPOP', userKey, userUsed) end
user = user + userUsed
for position in string.gmatch(familyUsed, '%d+') do
  redis.call('LSET', familyKey, tonumber(position) - family, '')
end
if familyUsed ~= '' then
  while redis.call('LINDEX', familyKey, 0) == '' do
    redis.call('LPOP', familyKey)
    family = family + 1
  end
end
local changes = { 'version', digits(tonumber(version) + 1), 'history', digits(history), 'fsm', fsm, 'open', open,
  'commit', token .. ':' .. sequence, 'starts', '0' }
local function change(name, value)
  changes[#changes + 1] = name
  changes[#changes + 1] = value
end
-- Fields that are mostly empty exist only when they were ever needed.
local function changeIf(name, value, old, absent)
  if (old or absent) ~= value then change(name, value) end
end
changeIf('attempt', attempt, field[24], '0')
changeIf('alone', '0', field[23], '0')
changeIf('timersOpen', timersOpen, field[21], '0')
changeIf('awaits', awaits, field[18], '')
if stateMode == 'inline' then
  change('data', state)
elseif stateMode == 'key' then
  redis.call('SET', stateKey, state)
  change('data', '@')
end
if failure == '-' then
  if field[19] == '1' then
    redis.call('DEL', failureKey)
    change('failed', '0')
  end
elseif failure ~= '' then
  redis.call('SET', failureKey, failure)
  if field[19] ~= '1' then change('failed', '1') end
end

-- 4. Children, sends, timers.
local enqueued = false
if #born > 0 then
  local ids = {}
  local score = tonumber(limits[7] or '0')
  for index = 1, #born do
    local spawn = born[index]
    local childKey = workerKey(tag, spawn.id)
    local childRecord = { 'schema', '1', 'session', session, 'parent', worker, 'parentRun', spawn.detached == '1' and '-' or run,
      'call', spawn.call, 'kind', spawn.kind, 'name', spawn.name, 'pool', spawn.pool, 'depth', digits(depth + 1), 'state', 'queued',
      'run', '1', 'open', '0', 'fsm', 'Idle', 'version', '0', 'created', digits(now) }
    for level = 1, depth do
      childRecord[#childRecord + 1] = 'path' .. level
      childRecord[#childRecord + 1] = spawn.detached == '1' and (string.sub(path[level], 1, 36) .. ':-') or path[level]
    end
    childRecord[#childRecord + 1] = 'path' .. (depth + 1)
    childRecord[#childRecord + 1] = worker .. ':' .. (spawn.detached == '1' and '-' or run)
    redis.call('HSET', childKey, unpack(childRecord))
    redis.call('RPUSH', childKey .. laneKeys.user, spawn.mail, unpack(spawn.more or {}))
    score = writeQueued(tag, spawn.pool, spawn.id, session, score, now)
    pools[spawn.pool] = true
    ids[index] = spawn.id
  end
  for from = 1, #ids, 1000 do
    redis.call('RPUSH', workersKey, unpack(ids, from, math.min(from + 999, #ids)))
  end
  redis.call('HSET', sessionKeyName, 'workers', digits(tonumber(limits[2]) + #born), 'score', digits(score))
  scores.last[session] = score
  children = children + joining
  if outcome == '' then change('children', digits(children)) end
end
if #spawns > 0 and outcome == '' then change('calls', spawns[#spawns].call) end
for index = 1, #mails do writeMail(tag, mails[index], now, scores, pools) end
if #timers > 0 and outcome == '' then
  for index = 1, #timers do
    redis.call('HSET', recordKey .. ':timers', timers[index].id, timers[index].value)
    redis.call('ZADD', timersKey, digits(now + timers[index].ms), worker .. ':' .. timers[index].id)
  end
end

-- 5. The end of a run: its result goes to the parent or the session; what still runs below it is cancelled.
local ended = nil
if outcome ~= '' then
  change('run', digits(tonumber(run) + 1))
  changeIf('calls', '0', field[13], '0')
  control, family = writeRunLeftovers(tag, worker, recordKey, control, family)
  if children > 0 then
    change('children', '0')
    redis.call('SADD', sessionKeyName .. ':cancelled', worker .. ':' .. run)
    redis.call('SADD', tag .. ':cancelling', session)
  end
  if parentPlan then
    writeMail(tag, parentPlan, now, scores, pools)
    redis.call('HSET', parentPlan.record, 'children', digits(parentPlan.children - 1))
  end
  if field[8] == false then
    local facts = { 'result:' .. run, outcome .. ' ' .. digits(history - 1) }
    if field[11] == 'job' and outcome ~= 'cancelled' and redis.call('EXISTS', userKey) == 0 then
      ended = outcome
      facts[3], facts[4], facts[5], facts[6] = 'state', outcome, 'finished', digits(now)
    end
    redis.call('HSET', sessionKeyName, unpack(facts))
  end
end
if control > 0 then change('control', digits(control)) end
if family > 0 then change('family', digits(family)) end
if user > 0 then change('user', digits(user)) end

-- 6. The end of the turn: is a message there that wakes it? Then it is queued again, in this same script.
local turnEnds = wait ~= ''
if turnEnds then
  local again = false
  if hit == 'whole' then
    -- Cancelled for good: its mail is kept for reading, and nothing of it runs again.
    wait = 'any'
  elseif wait == 'retry' then
    redis.call('ZADD', timersKey, digits(now + tonumber(retryMs)), worker .. ':retry')
  elseif wait == 'again' then
    again = true
  elseif wait == 'any' then
    again = ended == nil and redis.call('EXISTS', controlKey, familyKey, userKey) > 0
  else
    again = redis.call('EXISTS', controlKey) > 0
    if not again and wait ~= 'control' then
      local unseen = redis.call('LRANGE', familyKey, familySeen - family, -1)
      for index = 1, #unseen do
        if wakes('parked', wait, 'family', unseen[index], familySeen + index) then again = true end
      end
    end
  end
  change('token', '')
  redis.call('ZREM', leasesKey, worker)
  if again then
    local last = scores.last[session] or redis.call('HGET', sessionKeyName, 'score')
    scores.last[session] = writeQueued(tag, pool, worker, session, last, now)
    scores.touched[session] = true
    pools[pool] = true
    change('state', 'queued')
    changeIf('wait', wait == 'again' and 'any' or wait, field[25], 'any')
  else
    change('state', hit == 'whole' and 'terminal' or ((open == '1' or wait == 'retry') and 'parked' or 'idle'))
    changeIf('wait', wait, field[25], 'any')
  end
end
if field[20] and field[20] ~= '' then change('bells', '') end
writeScores(tag, scores)
redis.call('HSET', recordKey, unpack(changes))
if ended then
  redis.call('XADD', eventsKey, 'MAXLEN', '~', eventsKept, '*', 'session', session, 'worker', worker, 'events', event, 'ended', ended,
    'at', digits(history - 1))
elseif event ~= '' then
  redis.call('XADD', eventsKey, 'MAXLEN', '~', eventsKept, '*', 'session', session, 'worker', worker, 'events', event)
end

-- 7. The slot's next worker, then the bell rule for every pool that got work.
local claimed = { 'none' }
if turnEnds then
  if claim.nonce ~= '' then
    local fine, answer = pcall(claimNext, tag, claim, now)
    claimed = fine and answer or { 'empty' }
  elseif bell ~= '' then
    redis.call('ZREM', bellsKey, bell)
    if claim.wasBusy == '1' then redis.call('ZREM', tag .. ':busy:' .. pool, bell) end
    pools[pool] = true
  end
  if claimed[1] == 'unfit' then pools[pool] = true end
end
local bells = ''
for name in pairs(pools) do
  local rung = writeBells(tag, name, seed, now, bellMs > 0 and bellMs or 2000, bellsMost)
  if rung ~= '' then bells = bells == '' and rung or (bells .. ',' .. rung) end
end
if bells ~= '' then redis.call('HSET', recordKey, 'bells', bells) end
return { 'ok', digits(tonumber(version) + 1), bells, claimed }
