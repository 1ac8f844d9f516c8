--[[ shared – what the scripts have in common. defineScript puts this file in front of each of them; it calls nothing itself.
A script reads and checks everything first and writes afterwards; `plan…` and `read…` only read, `write…` only write.
A record holds only what differs from the start: no run means 1, no version 0, no pool "default", no name the kind. ]]

local function tagOf(anyKey)
  return string.match(anyKey, '^{[^}]*}')
end

local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Numbers as whole digits: the default conversion would write a time in milliseconds as 1.7e+12.
local function digits(number)
  return string.format('%.0f', number)
end

local function workerKey(tag, id)
  return tag .. ':w:' .. id
end

local function sessionKey(tag, id)
  return tag .. ':s:' .. id
end

-- The root's id is the session's with version 8 instead of 7, so neither needs to be stored with the other.
local function rootOf(session)
  return string.sub(session, 1, 14) .. '8' .. string.sub(session, 16)
end

local function sessionOf(id, record)
  return record.session or (string.sub(id, 1, 14) .. '7' .. string.sub(id, 16))
end

-- How often the worker was claimed. It stands in the token while there is one ("<epoch>:<nonce>", "<epoch>:" after a lease that
-- ended), and in the id of the last commit.
local function epochOf(record)
  local claimed = tonumber(string.match(record.token or '', '^(%d+)') or '0')
  local committed = tonumber(string.match(record.commit or '', '^(%d+)') or '0')
  return math.max(claimed, committed), committed
end

-- Claims since the last commit.
local function startsOf(record)
  local epoch, committed = epochOf(record)
  return epoch - committed
end

-- Nothing may fail after the first write. What could is checked before it: that keys are of the sort they should be, and that fields and
-- arguments to count with are whole numbers. Each check throws, and names what is wrong. A check is a command, so scripts that every turn
-- runs do without where they can: the first write may fail by itself, what was read is of its sort, and what may be missed (events,
-- bells, scores) or has a second place (the line) is written by pcall: the sweeps, which have time, check those keys.
local sizes = { hash = 'HLEN', list = 'LLEN', set = 'SCARD', zset = 'ZCARD', stream = 'XLEN', string = 'STRLEN' }
local function checkSort(sort, ...)
  local keys = { ... }
  for index = 1, #keys do
    local size = redis.pcall(sizes[sort], keys[index])
    if type(size) == 'table' then
      -- Whatever else it is says so itself.
      if not string.find(size.err, 'WRONGTYPE', 1, true) then redis.call(sizes[sort], keys[index]) end
      error('key ' .. keys[index] .. ' is a ' .. redis.call('TYPE', keys[index]).ok .. ' and should be a ' .. sort, 0)
    end
  end
end

-- The length of a list that is about to be written to, which checks its sort as well.
local function lengthOf(listKey)
  local length = redis.pcall('LLEN', listKey)
  if type(length) == 'table' then checkSort('list', listKey) end
  return length
end

local function isWhole(number)
  return number and number >= 0 and number <= 9007199254740992 and number == math.floor(number)
end

local function checkArguments(...)
  for index = 1, select('#', ...) do
    if not isWhole((select(index, ...))) then error('number ' .. index .. ' of the arguments should be a whole number', 0) end
  end
end

-- Arguments that are missing are missing from the end.
local function checkLast(argument)
  if not argument then error('the arguments should be as many as the header says', 0) end
end

-- Fields of a record that scripts count with; absent ones are at their start.
local counters = { 'run', 'version', 'depth', 'control', 'family', 'user', 'alone', 'crashes' }
local function checkRecord(recordKey, record)
  for index = 1, #counters do
    local text = record[counters[index]]
    if text and not string.find(text, '^%d+$') then error('field ' .. counters[index] .. ' of ' .. recordKey .. ' should be a whole number', 0) end
  end
  local depth = tonumber(record.depth or '0')
  for level = 1, depth do
    if not record['path' .. level] then error('record ' .. recordKey .. ' should have a field path' .. level, 0) end
  end
  if not record.kind or not record.state then error('record ' .. recordKey .. ' should have a kind and a state', 0) end
  if record.limits and not string.find(record.limits, '^%d+ %d+ %d+ %d+$') then error('field limits of ' .. recordKey .. ' should be four numbers', 0) end
end

-- How often something of a session was cancelled, which is counted up.
local function checkMarks(sessionHash)
  if not string.find(redis.call('HGET', sessionHash, 'marks') or '0', '^%d+$') then error('field marks of ' .. sessionHash .. ' should be a whole number', 0) end
end

-- Does this error say that something stored is not as it should be? Other errors may pass by themselves.
local function isDamage(thrown)
  local text = type(thrown) == 'table' and thrown.err or tostring(thrown)
  return string.find(text, ' should ', 1, true) or string.find(text, 'WRONGTYPE', 1, true)
end

local laneKeys = { control = ':mail:control', family = ':mail:family', user = ':mail:user' }

-- A hash as a table, and as the flat list that Redis gives.
local function readHash(hashKey)
  local flat = redis.pcall('HGETALL', hashKey)
  if flat.err then
    checkSort('hash', hashKey)
    error(flat.err, 0)
  end
  local fields = {}
  for index = 1, #flat, 2 do fields[flat[index]] = flat[index + 1] end
  return fields, flat
end

-- active, cancelling, or how it ended ("<status> <time in ms> <run> <history position of the result>"); nil without such a session.
local function sessionState(tag, session)
  local field = redis.call('HMGET', sessionKey(tag, session), 'schema', 'state', 'ended')
  if not field[1] then return nil end
  return field[3] and string.match(field[3], '^%a+') or field[2] or 'active'
end

-- A record's limits: "<workers> <children> <depth> <mailbox>".
-- Absent: those a session starts with by default.
local startLimits = '200 20 5 1000'
local function limitsOf(record)
  local workers, children, depth, mailbox = string.match(record.limits or startLimits, '^(%d+) (%d+) (%d+) (%d+)$')
  if not workers then error('limits "' .. record.limits .. '" should be four numbers', 0) end
  return { workers = tonumber(workers), children = tonumber(children), depth = tonumber(depth), mailbox = tonumber(mailbox) }
end

-- Is the worker cancelled, through an ancestor or itself? Returns nil, 'own' (this run only) or 'whole' (for good).
-- Its ancestors stand in path1 (the root), path2, ... as "<worker>:<run>", or "<worker>:-" where it was spawned as detached: one
-- field each, since a value over 64 bytes would make the whole record several times as large in memory.
-- The session counts what was cancelled in it: only then is the set read. So its hash is known to be one, for who writes to it next.
local function cancelHit(tag, session, record, id)
  local sessionHash = sessionKey(tag, session)
  local marks = redis.pcall('HGET', sessionHash, 'marks')
  if not marks then return nil end
  if type(marks) == 'table' then checkSort('hash', sessionHash) end
  local probes = {}
  for level = 1, tonumber(record.depth or '0') do
    local element = record['path' .. level]
    probes[#probes + 1] = element
    probes[#probes + 1] = string.sub(element, 1, 36) .. ':*'
  end
  probes[#probes + 1] = id .. ':*'
  probes[#probes + 1] = id .. ':' .. (record.run or '1')
  local found = redis.call('SMISMEMBER', sessionHash .. ':cancelled', unpack(probes))
  for index = 1, #probes - 1 do
    if found[index] == 1 then return 'whole' end
  end
  if found[#probes] == 1 then return 'own' end
  return nil
end

-- Does a message in this lane wake a worker in this state, waiting for this? `text` is the mail, `tail` the lane's length for ever
-- counted with it. Waits: any | control | retry | result:<child> | family:<length>.
local function wakes(state, wait, lane, text, tail)
  if state == 'idle' then return true end
  if state ~= 'parked' or wait == 'retry' then return false end
  if lane == 'control' or wait == 'any' then return true end
  if lane ~= 'family' then return false end
  if string.sub(wait, 1, 7) == 'result:' then
    return string.sub(text, 3, 38) == string.sub(wait, 8)
  end
  if string.sub(wait, 1, 7) == 'family:' then
    return tail >= tonumber(string.sub(wait, 8))
  end
  return false
end

-- Puts a worker into the run queue. The score is the time, but at least one more than the session's last one, so that a session
-- with many runnable workers stands in line behind those with few.
local function writeQueued(tag, pool, id, lastScore, now)
  local score = now
  local last = type(lastScore) ~= 'table' and tonumber(lastScore)
  if last and last >= score then score = last + 1 end
  local added = redis.pcall('ZADD', tag .. ':run:' .. pool, digits(score), id)
  -- A line that is none: sweeps take the worker from among the unhosted once it is mended.
  if type(added) == 'table' then redis.pcall('ZADD', tag .. ':run:unhosted', digits(score), id) end
  return score
end

-- The bell rule: while bells out < min(workers queued, max(1, slots - busy)), one more bell. Where turns are short, one slot that
-- is awake is expected to take `share` workers in a row, so that fewer are woken. Returns the new bells, comma-separated.
local bellsMost = 50
local function writeBells(tag, pool, seed, now, bellMs)
  if pool == 'unhosted' then return '' end
  local queued = redis.call('ZCARD', tag .. ':run:' .. pool)
  if queued == 0 then return '' end
  local out = redis.call('ZCOUNT', tag .. ':bells:' .. pool, digits(now), '+inf')
  if out >= queued then return '' end
  local facts = redis.call('MGET', tag .. ':slots:' .. pool, tag .. ':share:' .. pool)
  local slots, share = tonumber(facts[1] or '0'), tonumber(facts[2] or '1')
  local wanted = math.ceil(queued / share)
  if out >= wanted then return '' end
  if slots > 1 and wanted > 1 then
    wanted = math.min(wanted, math.max(1, slots - redis.call('ZCARD', tag .. ':busy:' .. pool)))
  else
    wanted = math.min(wanted, 1)
  end
  local bells = {}
  for number = 1, math.min(wanted - out, bellsMost) do
    bells[number] = 'b' .. seed .. '-' .. pool .. '-' .. number
    redis.call('ZADD', tag .. ':bells:' .. pool, digits(now + bellMs), bells[number])
  end
  return table.concat(bells, ',')
end

-- The bell rule for each of these pools.
-- A key of bells that is none costs bells and nothing else: the sweeps say so, and wake without them.
local function writeBellsOf(tag, pools, seed, now, bellMs)
  local all = ''
  for pool in pairs(pools) do
    local fine, bells = pcall(writeBells, tag, pool, seed, now, bellMs)
    if fine and bells ~= '' then all = all == '' and bells or (all .. ',' .. bells) end
  end
  return all
end

-- What a recipient must show before mail is written to it. Returns a plan, or nil and a tag word that says why not.
local planFields = { 'state', 'wait', 'session', 'pool', 'run', 'open', 'limits' }
local function planMail(tag, id, lane, text)
  local record = workerKey(tag, id)
  local field = redis.pcall('HMGET', record, unpack(planFields))
  if field.err then
    checkSort('hash', record)
    error(field.err, 0)
  end
  if not field[1] then return nil, 'not_found' end
  if field[1] == 'terminal' then return nil, 'terminal' end
  return {
    id = id, record = record, lane = lane, text = text, length = lengthOf(record .. laneKeys[lane]), state = field[1], wait = field[2] or 'any',
    session = field[3] or sessionOf(id, {}), pool = field[4] or 'default', run = field[5] or '1', open = field[6], limits = field[7] or nil,
  }
end

-- What mail did in this script: who was woken, the last score of each session, which pools got work.
local function newWakes()
  return { woken = {}, last = {}, touched = {}, pools = {} }
end

local function writeWoken(tag, plan, now, woke)
  woke.woken[plan.id] = true
  local last = woke.last[plan.session] or redis.pcall('HGET', sessionKey(tag, plan.session), 'score')
  woke.last[plan.session] = writeQueued(tag, plan.pool, plan.id, last, now)
  woke.touched[plan.session] = true
  woke.pools[plan.pool] = true
end

-- Appends the mail; queues the worker if that wakes it. Returns the lane's length now.
local function writeMail(tag, plan, now, woke)
  local length = redis.call('RPUSH', plan.record .. laneKeys[plan.lane], plan.text)
  if not woke.woken[plan.id] and (plan.state == 'idle' or plan.state == 'parked') then
    local tail = length
    if string.sub(plan.wait, 1, 7) == 'family:' then
      tail = length + tonumber(redis.call('HGET', plan.record, 'family') or '0')
    end
    if wakes(plan.state, plan.wait, plan.lane, plan.text, tail) then
      writeWoken(tag, plan, now, woke)
      redis.call('HSET', plan.record, 'state', 'queued')
    end
  end
  return length
end

local function writeScores(tag, woke)
  for session in pairs(woke.touched) do
    redis.pcall('HSET', sessionKey(tag, session), 'score', digits(woke.last[session]))
  end
end

-- A message from outside, of which everything is checked: a plan, or nil and the answer that refuses it.
local function planInput(tag, id, text)
  local plan, why = planMail(tag, id, 'user', text)
  if not plan then return nil, { why } end
  local state = sessionState(tag, plan.session)
  if state ~= 'active' then return nil, { 'session_finished', state or 'pruned' } end
  local most = limitsOf(plan).mailbox
  plan.consumed = tonumber(redis.call('HGET', plan.record, 'user') or '0')
  if not isWhole(plan.consumed) then error('field user of ' .. plan.record .. ' should be a whole number', 0) end
  if plan.length >= most then return nil, { 'mailbox_full', digits(most) } end
  return plan
end

-- Returns its position in the lane, and the bells.
local function writeInput(tag, plan, event, seed, bellMs)
  local now, woke = nowMs(), newWakes()
  local position = digits(plan.consumed + writeMail(tag, plan, now, woke) - 1)
  writeScores(tag, woke)
  local facts = { 'session', plan.session, 'events', event }
  if plan.id ~= rootOf(plan.session) then
    facts[5] = 'worker'
    facts[6] = plan.id
  end
  redis.pcall('XADD', tag .. ':events', '*', unpack(facts))
  return position, writeBellsOf(tag, woke.pools, seed, now, bellMs)
end

-- Drops what only the ended run could have used: its open timers, and timer messages and results nobody received.
-- Returns how many mails went from the control and the family lane.
local function writeRunLeftovers(tag, id, record, awaited)
  local base = workerKey(tag, id)
  if (record.attempt or '0') ~= '0' then redis.call('ZREM', tag .. ':timers', id .. ':retry') end
  local control, family = 0, 0
  if (record.timersOpen or '0') ~= '0' then
    local timers = redis.call('HKEYS', base .. ':timers')
    for index = 1, #timers do
      redis.call('ZREM', tag .. ':timers', id .. ':' .. timers[index])
    end
    control = redis.call('LLEN', base .. laneKeys.control)
    redis.call('DEL', base .. ':timers', base .. laneKeys.control)
  end
  if awaited then
    family = redis.call('LLEN', base .. laneKeys.family)
    if family > 0 then redis.call('DEL', base .. laneKeys.family) end
  end
  return control, family
end

-- Reads one lane from its head, at most `most` bytes (one mail at least), in pieces so that a full mailbox is never read whole.
-- Tells whether there is more.
local function readLane(laneKey, most)
  local mails, bytes, from = {}, 0, 0
  while true do
    local piece = redis.call('LRANGE', laneKey, from, from + 15)
    for index = 1, #piece do
      bytes = bytes + #piece[index]
      if #mails > 0 and bytes > most then return mails, true end
      mails[#mails + 1] = piece[index]
    end
    if #piece < 16 then return mails, false end
    from = from + 16
  end
end

-- The result that the worker waits for, when the lane's head holds more bytes than one grant hands out: its place and its text.
local function readAwaited(laneKey, wait, from)
  local child = string.match(wait or '', '^result:(.*)$')
  while child do
    local piece = redis.call('LRANGE', laneKey, from, from + 15)
    for index = 1, #piece do
      if string.sub(piece[index], 3, 38) == child then return { digits(from + index - 1), piece[index] } end
    end
    if #piece < 16 then return {} end
    from = from + 16
  end
  return {}
end

-- Everything a node needs to run the turn: the record, the state if it has a key of its own, the lanes that may be received from.
-- Timers and results belong to a run: between runs only the user lane is read.
local function readGrant(tag, id, record, flat, token, mark, suspect, most)
  local base = workerKey(tag, id)
  local control, family, awaited = {}, {}, {}
  if record.open == '1' then
    if (record.timersOpen or '0') ~= '0' then control = readLane(base .. laneKeys.control, most) end
    if (record.awaits or '') ~= '' then
      local more
      family, more = readLane(base .. laneKeys.family, most)
      if more then awaited = readAwaited(base .. laneKeys.family, record.wait, #family) end
    end
  end
  local user = {}
  if record.open ~= '1' then user = readLane(base .. laneKeys.user, most) end
  local state = record.data or ''
  if state == '@' then state = redis.call('GET', base .. ':state') or '' end
  return { 'grant', id, mark, token, suspect and '1' or '0', flat, state, control, family, user, awaited }
end

-- A worker in line, with its grant if this node can run it; else a word that says why not: gone | unfit.
-- mark: run | cancelled (for its cancelling end only) | poison (quarantined: for its failing end only).
local function readCandidate(tag, claim, id)
  local recordKey = workerKey(tag, id)
  local record, flat = readHash(recordKey)
  if record.state ~= 'queued' then return nil, 'gone' end
  checkRecord(recordKey, record)
  if not string.find(claim.kinds, ' ' .. record.kind .. ' ', 1, true) then return nil, 'unfit' end
  local session, starts = sessionOf(id, record), startsOf(record)
  local suspect = starts >= claim.suspectAfter
  local mark = 'run'
  if cancelHit(tag, session, record, id) then
    mark = 'cancelled'
  elseif tonumber(record.alone or '0') >= claim.poisonAfter then
    mark = 'poison'
  end
  if mark == 'run' and suspect and claim.maySuspect ~= '1' then return nil, 'unfit' end
  if starts > 0 then
    -- Its last turn could not commit: is there something that no commit could write to? Then the worker is not to blame.
    checkSort('list', recordKey .. ':log', recordKey .. laneKeys.control, recordKey .. laneKeys.family, recordKey .. laneKeys.user)
    checkSort('hash', recordKey .. ':timers', sessionKey(tag, session))
    checkSort('stream', tag .. ':events', tag .. ':dead')
    checkSort('zset', tag .. ':timers')
  end
  local token = digits(epochOf(record) + 1) .. ':' .. claim.nonce
  local reply = readGrant(tag, id, record, flat, token, mark, suspect and mark == 'run', claim.mailBytes)
  return { id = id, record = record, token = token, mark = mark, suspect = suspect and mark == 'run', reply = reply }
end

-- The first queued worker that this node can run. Reads before it writes, also when it follows a commit in one script. One whose keys
-- cannot be read or written is damaged: it must not keep others from running.
local function planClaim(tag, claim)
  local runKey = tag .. ':run:' .. claim.pool
  local from, unfit, gone, damaged = 0, false, {}, {}
  while from < 32 do
    local candidates = redis.call('ZRANGE', runKey, from, from == 0 and 0 or 31)
    for index = 1, #candidates do
      local fine, found, why = pcall(readCandidate, tag, claim, candidates[index])
      if not fine then
        if not isDamage(found) then error(found, 0) end
        damaged[#damaged + 1] = candidates[index]
      elseif found then
        found.gone, found.damaged = gone, damaged
        return found
      elseif why == 'gone' then
        gone[#gone + 1] = candidates[index]
      else
        unfit = true
      end
    end
    if #candidates == 0 then break end
    from = from == 0 and 1 or 32
  end
  return { tag = unfit and 'unfit' or 'empty', gone = gone, damaged = damaged }
end

-- Out of the line: sweeps put such a worker back, so that it is looked at about once a second until it is mended.
local function writeDamaged(tag, runKey, damaged)
  for index = 1, #damaged do
    local score = redis.call('ZSCORE', runKey, damaged[index])
    redis.call('ZREM', runKey, damaged[index])
    redis.call('ZADD', tag .. ':run:unhosted', score, damaged[index])
  end
end

local function claimNext(tag, claim, now)
  local plan = planClaim(tag, claim)
  local runKey, bellsKey = tag .. ':run:' .. claim.pool, tag .. ':bells:' .. claim.pool
  local id, record = plan.id, plan.record
  if #plan.damaged > 0 then checkSort('zset', tag .. ':run:unhosted') end
  if id then
    -- The first write, so it may fail.
    redis.call('ZADD', tag .. ':leases', digits(now + claim.leaseMs), id)
    writeDamaged(tag, runKey, plan.damaged)
    redis.call('ZREM', runKey, id, unpack(plan.gone))
    local changes = { 'state', 'running', 'token', plan.token }
    if plan.mark == 'run' then
      if plan.suspect then
        changes[#changes + 1] = 'alone'
        changes[#changes + 1] = digits(tonumber(record.alone or '0') + 1)
      end
      if record.failed == '1' and record.open ~= '1' and (record.attempt or '0') == '0' then
        -- A run starts: what the last one failed with is no longer true of this worker.
        changes[#changes + 1] = 'failed'
        changes[#changes + 1] = '0'
        redis.call('DEL', workerKey(tag, id) .. ':failure')
      end
    end
    redis.call('HSET', workerKey(tag, id), unpack(changes))
    redis.pcall('HSET', tag .. ':grants:' .. claim.node, claim.slot, claim.nonce .. ' ' .. id .. (plan.mark == 'run' and '' or (' ' .. plan.mark)))
    if claim.bell ~= '' and claim.keepBell == '1' then
      redis.pcall('ZADD', bellsKey, digits(now + claim.bellMs), claim.bell)
      if claim.wasBusy == '1' then redis.pcall('ZREM', tag .. ':busy:' .. claim.pool, claim.bell) end
    end
    return plan.reply
  end
  writeDamaged(tag, runKey, plan.damaged)
  if #plan.gone > 0 then redis.call('ZREM', runKey, unpack(plan.gone)) end
  if claim.bell ~= '' then
    redis.pcall('ZREM', bellsKey, claim.bell)
    if claim.wasBusy == '1' then redis.pcall('ZREM', tag .. ':busy:' .. claim.pool, claim.bell) end
  end
  return { plan.tag }
end

-- Is this nonce older than that which the slot was granted since? Nonces are "<number>.<random>", numbered by their node.
local function isOlderNonce(nonce, held)
  local number, heldNumber = string.match(nonce, '^(%w+)%.'), string.match(held, '^(%w+)%.')
  return number and heldNumber and tonumber(number, 36) < tonumber(heldNumber, 36)
end

-- What this slot was answered under this nonce before: the same grant, or empty when that turn is over. An older nonce is that of a
-- duplicate which comes late: it takes no worker, since nobody would run it. nil: the nonce is new.
local function sameGrant(tag, claim)
  local held = redis.call('HGET', tag .. ':grants:' .. claim.node, claim.slot)
  if not held then return nil end
  local nonce, id, mark = string.match(held, '^(%S+) (%S+) ?(%S*)$')
  if nonce ~= claim.nonce then return isOlderNonce(claim.nonce, nonce) and { 'empty' } or nil end
  local record, flat = readHash(workerKey(tag, id))
  if string.match(record.token or '', ':(.*)$') ~= nonce then return { 'empty' } end
  local suspect = mark == '' and startsOf(record) > claim.suspectAfter
  return readGrant(tag, id, record, flat, record.token, mark == '' and 'run' or mark, suspect, claim.mailBytes)
end
