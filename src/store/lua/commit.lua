--[[ commit – records a step, or the end of a turn, exactly once; at the end of a turn it claims the slot's next worker.
Why a script   history, state, mail, spawns, the run's outcome and the slot's next claim must happen together or not at all.
KEYS[1] record    hash               KEYS[2] log      list               KEYS[3] user      list
KEYS[4] leases    zset               KEYS[5] events   stream
ARGV[1] token         ARGV[2] sequence     of this commit under the token, from 1
ARGV[3] version       the version this commit builds on
ARGV[4] runState      state of the run     ARGV[5] open         1 while a run is in progress
ARGV[6] userUsed      mails consumed from the head of the lane
ARGV[7] wait          empty: the turn goes on; else what the worker waits for; again: nothing, it stands in line again
ARGV[8] event         json                 ARGV[9] bellMs       ARGV[10] seed       names of new bells
ARGV[11] entries      count of history entries, then each; then facts: the name of each, then its values. Absent: as without it.
  attempt      "<tries> <what>" of each that waits for its retry, as the node says     retryMs      until then
  state        json, kept in the record    stateKey    json, kept under a key of its own
  failure      json; - : clear it          controlUsed mails consumed from the head of the lane
  familyUsed   positions consumed, comma-separated     familySeen   length for ever the node has seen
  awaits       calls whose results are still to come   awaiting     how many those are, or were when the run ended
  timersOpen   timers of the run that have not been received
  outcome      completed | failed | cancelled: the run ends                result       mail for the parent
  dead         evidence json of a quarantine: a consumed input goes to the dead letters with it, not into the history
  deadKept     length of the stream of dead letters
  spawn        id, kind, name, pool, detached, call, grant (empty: none), mail
  send         worker, mail                timer       id, ms, json
  leave        bell (empty: none): no claim follows         wasBusy      1: the bell may be among the busy
  claim        bell, nonce, slot, node, kinds, leaseMs, mailBytes, suspectAfter, poisonAfter
  keepBell     1: the claim sets the bell anew              noSuspect    1: the node runs one now
Returns {"ok", version, bells, claimed, spent or nothing, caps or nothing} | {"fenced", claimed} | {"conflict", version} | {"cancelled"} | {"refused", list}
        claimed: nothing, or what claim answers, also "empty" and "unfit"
Builds  T:w:<id> and its keys of this worker, of recipients, children, the parent, the root and the next worker; the keys of
        T:s:<session>; T:dead; T:cancelling; T:timers; T:share, T:nodes, T:told; for a claim T:run, T:bells, T:busy, T:slots, T:grants.
Events  what the node says happened, then session.completed and its like. Writes nothing unless it returns "ok". ]]
local recordKey, logKey, userKey, leasesKey, eventsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local token, sequence, version, runState, open, userUsed = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local wait, event, bellMs, seed = ARGV[7], ARGV[8], tonumber(ARGV[9]), ARGV[10]
local lists, cursor = ARGV, 11

-- 1. What is asked for.
local tag = tagOf(recordKey)
local worker, record = string.sub(recordKey, #tag + 4), readHash(recordKey)
local pool, turnEnds = record.pool or 'default', wait ~= ''
local none = {}
local given, spawns, sends, timers, claim = {}, none, none, none, nil
local count = tonumber(lists[cursor])
checkArguments(sequence, userUsed, bellMs, count)
if count > #lists then error('the entries should be as many as their count says', 0) end
local entriesFrom, entriesTo = cursor + 1, cursor + count
cursor = entriesTo + 1
while cursor <= #lists do
  local name, first, second = lists[cursor], lists[cursor + 1], lists[cursor + 2]
  local values = 1
  if name == 'spawn' then
    if #spawns == 0 then spawns = {} end
    spawns[#spawns + 1] = { id = first, kind = second, name = lists[cursor + 3], pool = lists[cursor + 4], detached = lists[cursor + 5],
      call = lists[cursor + 6], grant = lists[cursor + 7], mails = { lists[cursor + 8] } }
    values = 8
  elseif name == 'send' then
    if #sends == 0 then sends = {} end
    sends[#sends + 1] = { worker = first, mail = second }
    values = 2
  elseif name == 'timer' then
    if #timers == 0 then timers = {} end
    timers[#timers + 1] = { id = first, ms = tonumber(second), value = lists[cursor + 3] }
    checkArguments(timers[#timers].ms)
    values = 3
  elseif name == 'claim' then
    claim = { pool = pool, bellMs = bellMs, bell = first, nonce = second, slot = lists[cursor + 3], node = lists[cursor + 4],
      kinds = lists[cursor + 5], leaseMs = tonumber(lists[cursor + 6]), mailBytes = tonumber(lists[cursor + 7]),
      suspectAfter = tonumber(lists[cursor + 8]), poisonAfter = tonumber(lists[cursor + 9]) }
    checkArguments(claim.leaseMs, claim.mailBytes, claim.suspectAfter, claim.poisonAfter)
    values = 9
  else
    given[name] = first
  end
  cursor = cursor + values + 1
end
if cursor ~= #lists + 1 then error('each fact should have as many values as the header says', 0) end
if claim then claim.wasBusy, claim.keepBell, claim.maySuspect = given.wasBusy, given.keepBell, given.noSuspect == '1' and '0' or '1' end
local controlUsed, familyUsed, familySeen = tonumber(given.controlUsed or 0), given.familyUsed or '', tonumber(given.familySeen or 0)
local awaiting, retryMs = tonumber(given.awaiting or 0), tonumber(given.retryMs or 0)
local outcome, dead = given.outcome, given.dead
checkArguments(controlUsed, familySeen, awaiting, retryMs)
if dead then checkArguments(tonumber(given.deadKept)) end

-- 2. May this node write, and has it not written this already?
local commitToken, commitSequence = string.match(record.commit or '', '^(.*):(%d+)$')
local repeated = commitToken == token and sequence <= tonumber(commitSequence)
if repeated or record.token ~= token then
  local before = claim and claimOrSame(tag, claim) or false
  if not repeated then return { 'fenced', before } end
  -- It was recorded, whatever became of its root since.
  local fine, _, spent, caps = pcall(readShared, tag, worker, record)
  return { 'ok', record.version, record.bells or '', before, fine and spent, fine and caps }
end
checkRecord(recordKey, record)
if (record.version or '0') ~= version then return { 'conflict', record.version or '0' } end
local session = sessionOf(worker, record)
local rootKey = record.parent and rootKeyOf(tag, session) or recordKey
local hit, marks, spentBefore, caps = cancelHit(tag, record, worker)
if hit and outcome ~= 'cancelled' then return { 'cancelled' } end
-- A fail-over lost the cancel that this node was told of: with this end the session would neither go on nor ever be finished.
if not hit and outcome == 'cancelled' then return { 'conflict', version } end

-- 3. Check all that would be written, without writing.
local run, own, others = record.run or '1', nil, { born = none, mails = none }
local waitsForOne = string.find(wait, ':', 1, true)
local concernsOthers = spentBefore or record.parent or record.calls or #spawns > 0 or #sends > 0 or awaiting > 0 or familyUsed ~= '' or waitsForOne
if concernsOthers then
  own = { id = worker, record = record, session = session, rootKey = rootKey, run = run, depth = tonumber(record.depth or 0), awaiting = awaiting,
    marks = marks, spent = spentBefore }
  local refused, ofStep = {}, { spawns = spawns, sends = sends, outcome = outcome, result = given.result, state = given.state, familyUsed = familyUsed,
    waitsForOne = waitsForOne }
  others = planOthers(tag, own, ofStep, refused)
  if #refused > 0 then return { 'refused', refused } end
end
local born, spent = others.born, others.spent

local hadTimers = (record.timersOpen or '0') ~= '0'
if controlUsed > 0 or (outcome and hadTimers) then checkSort('list', recordKey .. laneKeys.control) end
-- Read once, to know that it is a list, and whether more waits there.
local userLeft = (userUsed > 0 or turnEnds or outcome) and lengthOf(userKey) - userUsed or 0
if dead then checkSort('stream', tag .. ':dead') end
if #timers > 0 or wait == 'retry' or (outcome and (hadTimers or (record.attempt or '0') ~= '0')) then
  checkSort('zset', tag .. ':timers')
  checkSort('hash', recordKey .. ':timers')
end
local endsSession = outcome and not record.parent and record.mode ~= 'conversation' and outcome ~= 'cancelled'
if outcome and not (record.parent or (endsSession and userLeft + #others.mails <= 0)) then checkSort('hash', sessionKey(tag, session) .. ':results') end

-- 4. Write: history, mail taken, state, failure. Fields that are mostly empty exist only when they were ever needed.
local changes = { 'version', digits(tonumber(version) + 1), 'commit', token .. ':' .. digits(sequence) }
local function change(name, value, absent)
  if (record[name] or absent) ~= value then
    changes[#changes + 1] = name
    changes[#changes + 1] = value
  end
end
-- What is said of the whole session stands in its root.
local ofRoot = record.parent and {} or changes
local last = 0
for from = entriesFrom, entriesTo, 1000 do
  -- The first write, so it may fail, also because Redis takes none just now; a log that is none is named.
  local length = redis.pcall('RPUSH', logKey, unpack(lists, from, math.min(from + 999, entriesTo)))
  if type(length) == 'table' then
    checkSort('list', logKey)
    return length
  end
  last = length - 1
end
if outcome then last = digits(last) end
local control, family = tonumber(record.control or 0) + controlUsed, tonumber(record.family or 0)
local user = tonumber(record.user or 0) + userUsed
if controlUsed > 0 then redis.call('LPOP', recordKey .. laneKeys.control, controlUsed) end
if dead then
  -- Without an input that is put aside, the evidence alone: what was killed by is a step that is recorded.
  local letter = { 'session', session, 'worker', worker, 'evidence', dead }
  if userUsed > 0 then letter[7], letter[8] = 'mail', redis.call('LINDEX', userKey, 0) or '' end
  redis.call('XADD', tag .. ':dead', 'MAXLEN', '~', given.deadKept, '*', unpack(letter))
end
if userUsed == 1 then redis.call('LPOP', userKey) elseif userUsed > 1 then redis.call('LPOP', userKey, userUsed) end
if familyUsed ~= '' then
  -- Results are consumed in call order, which need not be the order they came in: those in the middle are emptied, and go when
  -- all before them have gone.
  local ahead, middle = 0, {}
  for position in string.gmatch(familyUsed, '%d+') do middle[tonumber(position) - family] = true end
  while middle[ahead] do
    middle[ahead] = nil
    ahead = ahead + 1
  end
  for place in pairs(middle) do redis.call('LSET', recordKey .. laneKeys.family, place, '') end
  if ahead > 0 then
    redis.call('LPOP', recordKey .. laneKeys.family, ahead)
    family = family + ahead
    while redis.call('LINDEX', recordKey .. laneKeys.family, 0) == '' do
      redis.call('LPOP', recordKey .. laneKeys.family)
      family = family + 1
    end
  end
end
change('runState', runState, 'Idle')
change('open', open, '0')
if record.alone then change('alone', '0') end
if given.attempt or record.attempt then change('attempt', given.attempt or '0', '0') end
if given.awaits or record.awaits then change('awaits', given.awaits or '', '') end
if given.timersOpen or record.timersOpen then change('timersOpen', given.timersOpen or '0', '0') end
if given.state then
  if record.data == '@' then redis.call('DEL', recordKey .. ':state') end
  change('data', given.state)
elseif given.stateKey then
  redis.call('SET', recordKey .. ':state', given.stateKey)
  change('data', '@')
end
if given.failure == '-' then
  if record.failed == '1' then redis.call('DEL', recordKey .. ':failure') end
  if record.failed then change('failed', '0') end
elseif given.failure then
  redis.call('SET', recordKey .. ':failure', given.failure)
  change('failed', '1')
end

-- 5. Children, sends, timers.
local now, woke, ended = nil, nil, nil
if turnEnds or #born > 0 or #others.mails > 0 or #timers > 0 or outcome then now, woke = nowMs(), newWakes() end
if #born > 0 or #others.mails > 0 then userLeft = userLeft + writeOthers(tag, own, others, ofRoot, now, woke) end
if spent then
  ofRoot[#ofRoot + 1] = 'spent'
  ofRoot[#ofRoot + 1] = spent
end
if #spawns > 0 and not outcome then change('calls', spawns[#spawns].call) end
if not outcome then
  for index = 1, #timers do
    redis.call('HSET', recordKey .. ':timers', timers[index].id, timers[index].value)
    redis.call('ZADD', tag .. ':timers', now + timers[index].ms, worker .. ':' .. timers[index].id)
  end
end

-- 6. The end of a run: its result goes to the parent or the session; what still runs below it is cancelled.
if outcome then
  change('run', digits(tonumber(run) + 1))
  if record.calls then change('calls', '0') end
  local controlLeft, familyLeft = writeRunLeftovers(tag, worker, record, awaiting > 0)
  control, family = control + controlLeft, family + familyLeft
  if awaiting > 0 then
    redis.call('SADD', sessionKey(tag, session) .. ':cancelled', worker .. ':' .. run)
    ofRoot[#ofRoot + 1] = 'marks'
    ofRoot[#ofRoot + 1] = digits(tonumber(marks or 0) + 1)
    redis.call('SADD', tag .. ':cancelling', session)
  end
  if not record.parent then
    if endsSession and userLeft <= 0 then
      ended = outcome
      change('ended', outcome .. ' ' .. digits(now) .. ' ' .. run .. ' ' .. last)
    else
      redis.call('HSET', sessionKey(tag, session) .. ':results', run, outcome .. ' ' .. last)
    end
  end
end
if control > 0 then change('control', digits(control)) end
if family > 0 then change('family', digits(family)) end
if userUsed > 0 then change('user', digits(user)) end

-- 7. The end of the turn: is a message there that wakes it? Then it is queued again, in this same script.
if turnEnds then
  local again = false
  if hit == 'whole' then
    -- Cancelled for good: its mail is kept for reading, and nothing of it runs again.
    wait = 'any'
  elseif wait == 'retry' then
    redis.call('ZADD', tag .. ':timers', now + retryMs, worker .. ':retry')
  elseif wait == 'again' then
    again, wait = ended == nil, 'any'
  elseif wait == 'any' then
    again = ended == nil and userLeft > 0
    if not again and open == '1' then again = redis.call('EXISTS', recordKey .. laneKeys.control, recordKey .. laneKeys.family) > 0 end
  else
    again = redis.call('EXISTS', recordKey .. laneKeys.control) == 1
    if not again and waitsForOne then
      -- An ended run may have dropped results that this turn has not seen: then all that is there is unseen.
      local seen = math.max(familySeen, family)
      local unseen = redis.call('LRANGE', recordKey .. laneKeys.family, seen - family, -1)
      for index = 1, #unseen do
        if wakes('parked', wait, 'family', unseen[index], seen + index) then again = true end
      end
    end
  end
  change('token', '')
  change('wait', wait, 'any')
  redis.pcall('ZREM', leasesKey, worker)
  if again then
    change('place', 'queued')
    writeWoken(tag, { id = worker, session = session, pool = pool, score = record.score }, now, woke)
  else
    change('place', hit == 'whole' and 'terminal' or (open == '1' or wait == 'retry') and 'parked' or 'idle')
  end
  -- Closed between its last run and this end of its turn: close ends a conversation that rests. No other root has this mode.
  if record.mode == 'job' and not (again or outcome or hit) and open ~= '1' and wait == 'any' and not (record.cancel or record.ended) then
    ended = 'completed'
    change('ended', ended .. ' ' .. digits(now))
  end
end
if record.bells then change('bells', '') end
if woke then writeScores(tag, woke) end
redis.call('HSET', recordKey, unpack(changes))
if record.parent and #ofRoot > 0 then redis.call('HSET', rootKey, unpack(ofRoot)) end
if event ~= '' or ended then
  local facts = { 'session', session }
  -- What the session's end says already is not said twice.
  if not (ended and (event == '' or event == '[["run.completed"]]')) then
    facts[3] = 'events'
    facts[4] = event
  end
  if record.parent then
    facts[#facts + 1] = 'worker'
    facts[#facts + 1] = worker
  end
  if ended then
    facts[#facts + 1] = 'ended'
    facts[#facts + 1] = outcome and (ended .. ' ' .. last) or ended
    -- A small result travels with the event: who waits for it need not ask for it.
    if outcome and count > 0 and #lists[entriesTo] <= 256 then
      facts[#facts + 1] = 'result'
      facts[#facts + 1] = lists[entriesTo]
    end
  end
  redis.pcall('XADD', eventsKey, '*', unpack(facts))
end

-- 8. The slot's next worker, then the bell rule for every pool that got work.
local claimed = false
if turnEnds and claim then
  -- A key that may not be touched just now (a slot that migrates) must not undo what was written above.
  local fine, answer = pcall(claimOrSame, tag, claim, now)
  claimed = fine and answer or { 'empty' }
  if claimed[1] == 'unfit' then woke.pools[pool] = true end
elseif turnEnds and (given.leave or '') ~= '' then
  redis.pcall('ZREM', tag .. ':bells:' .. pool, given.leave)
  if given.wasBusy == '1' then redis.pcall('ZREM', tag .. ':busy:' .. pool, given.leave) end
  woke.pools[pool] = true
end
local bells = woke and writeBellsOf(tag, woke.pools, seed, now, bellMs) or ''
if bells ~= '' then redis.call('HSET', recordKey, 'bells', bells) end
return { 'ok', changes[2], bells, claimed, spent or spentBefore, caps }
