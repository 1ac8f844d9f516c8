--[[ shared – what the scripts have in common. defineScript puts this file in front of each of them; it calls nothing itself.
A script reads and checks everything first and writes afterwards; `plan…` functions only read, `write…` functions only write. ]]

local function tagOf(anyKey)
  return string.match(anyKey, '^{[^}]*}')
end

local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Numbers as whole digits: the default conversion writes 1e+15 for a time in milliseconds with 16 digits.
local function digits(number)
  return string.format('%.0f', number)
end

local function workerKey(tag, id)
  return tag .. ':w:' .. id
end

local function sessionKey(tag, id)
  return tag .. ':s:' .. id
end

local laneKeys = { control = ':mail:control', family = ':mail:family', user = ':mail:user' }

-- The ancestors of a worker, the root first, each "<worker>:<run>", or "<worker>:-" where it was spawned as detached. One field
-- each (path1, path2, ...), since a value over 64 bytes would make the whole record several times as large in memory.
local function readPath(record, depth)
  local names = {}
  for level = 1, depth do names[level] = 'path' .. level end
  if depth == 0 then return names end
  return redis.call('HMGET', record, unpack(names))
end

-- Is the worker cancelled, through an ancestor or itself? Returns nil, 'own' (this run only) or 'whole' (for good).
local function cancelHit(tag, session, path, id, run)
  local probes = {}
  for level = 1, #path do
    if path[level] then
      probes[#probes + 1] = path[level]
      probes[#probes + 1] = string.sub(path[level], 1, 36) .. ':*'
    end
  end
  probes[#probes + 1] = id .. ':*'
  probes[#probes + 1] = id .. ':' .. run
  local found = redis.call('SMISMEMBER', sessionKey(tag, session) .. ':cancelled', unpack(probes))
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
local function writeQueued(tag, pool, id, session, lastScore, now)
  local score = now
  local last = tonumber(lastScore)
  if last and last >= score then score = last + 1 end
  redis.call('ZADD', tag .. ':run:' .. pool, digits(score), id)
  return score
end

-- The bell rule: while bells out < min(workers queued, max(1, slots - busy)), one more bell. Returns the new ones as one string.
local function writeBells(tag, pool, seed, now, bellMs, most)
  if pool == 'unhosted' then return '' end
  local queued = redis.call('ZCARD', tag .. ':run:' .. pool)
  if queued == 0 then return '' end
  local out = redis.call('ZCOUNT', tag .. ':bells:' .. pool, digits(now), '+inf')
  if out >= queued then return '' end
  local slots = tonumber(redis.call('GET', tag .. ':slots:' .. pool) or '0')
  local want = 1
  if slots > 1 then
    want = math.max(1, slots - redis.call('ZCARD', tag .. ':busy:' .. pool))
  end
  want = math.min(queued, want, out + most)
  local bells = {}
  for number = 1, want - out do
    bells[number] = 'b' .. seed .. '-' .. pool .. '-' .. number
    redis.call('ZADD', tag .. ':bells:' .. pool, digits(now + bellMs), bells[number])
  end
  return table.concat(bells, ',')
end

local bellsMost = 50

-- What a recipient must show before mail is written to it. Returns a plan, or nil and a tag word that says why not.
local function planMail(tag, id, lane, text)
  local record = workerKey(tag, id)
  local field = redis.call('HMGET', record, 'state', 'wait', 'session', 'pool', lane, 'run', 'open', 'children')
  if not field[1] then return nil, 'not_found' end
  if field[1] == 'terminal' then return nil, 'terminal' end
  local laneKey = record .. laneKeys[lane]
  local plan = {
    id = id, record = record, laneKey = laneKey, lane = lane, text = text, state = field[1], wait = field[2] or 'any',
    session = field[3], pool = field[4], base = tonumber(field[5] or '0'), length = redis.call('LLEN', laneKey),
    run = field[6], open = field[7], children = tonumber(field[8] or '0')
  }
  return plan
end

-- Appends the mail; queues the worker if that wakes it. `scores` keeps each session's last score within this script.
local function writeMail(tag, plan, now, scores, pools)
  local length = redis.call('RPUSH', plan.laneKey, plan.text)
  local woken = scores.woken[plan.id]
  if not woken and wakes(plan.state, plan.wait, plan.lane, plan.text, plan.base + length) then
    scores.woken[plan.id] = true
    local last = scores.last[plan.session]
    if not last then last = redis.call('HGET', sessionKey(tag, plan.session), 'score') end
    scores.last[plan.session] = writeQueued(tag, plan.pool, plan.id, plan.session, last, now)
    scores.touched[plan.session] = true
    redis.call('HSET', plan.record, 'state', 'queued')
    pools[plan.pool] = true
  end
  return plan.base + length - 1
end

local function newScores()
  return { last = {}, touched = {}, woken = {} }
end

local function writeScores(tag, scores)
  for session in pairs(scores.touched) do
    redis.call('HSET', sessionKey(tag, session), 'score', digits(scores.last[session]))
  end
end

-- Drops what only the ended run could have used: its open timers, and timer messages and results nobody received.
local function writeRunLeftovers(tag, id, record, control, family)
  local timers = redis.call('HKEYS', record .. ':timers')
  for index = 1, #timers do
    redis.call('ZREM', tag .. ':timers', id .. ':' .. timers[index])
  end
  if #timers > 0 then redis.call('DEL', record .. ':timers') end
  redis.call('ZREM', tag .. ':timers', id .. ':retry')
  local controlLeft = redis.call('LLEN', record .. laneKeys.control)
  local familyLeft = redis.call('LLEN', record .. laneKeys.family)
  if controlLeft + familyLeft > 0 then
    redis.call('DEL', record .. laneKeys.control, record .. laneKeys.family)
  end
  return control + controlLeft, family + familyLeft
end

local grantFields = { 'session', 'parent', 'kind', 'name', 'depth', 'state', 'run', 'open', 'fsm', 'version', 'history', 'wait',
  'starts', 'alone', 'attempt', 'calls', 'children', 'control', 'family', 'user', 'data', 'commit', 'epoch', 'token', 'crashes', 'call',
  'parentRun', 'mode', 'failed', 'pool', 'awaits', 'timersOpen' }
local grantIndex = {}
for index = 1, #grantFields do grantIndex[grantFields[index]] = index end

-- Reads one lane from its head, at most `most` bytes (one mail at least), in pieces so that a full mailbox is never read whole.
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

-- Everything a node needs to run the turn: fields in the order of grantFields, the state if it has a key of its own, the lanes.
local function readGrant(tag, id, field, token, mark, most)
  local record = workerKey(tag, id)
  local control = readLane(record .. laneKeys.control, most)
  local family = {}
  if field[grantIndex.open] == '1' then family = readLane(record .. laneKeys.family, most) end
  local user, more = readLane(record .. laneKeys.user, most)
  local data = field[grantIndex.data]
  if data == '@' then data = redis.call('GET', record .. ':state') end
  field[grantIndex.data] = data
  field[grantIndex.token] = token
  return { 'grant', id, mark, field, control, family, user, more and '1' or '0' }
end

-- Claims the first queued worker that this node can run. Reads before it writes, also when it follows a commit in one script.
-- mark: run | cancelled (for its cancelling end only) | poison (quarantined: for its failing end only).
local function claimNext(tag, claim, now)
  local runKey = tag .. ':run:' .. claim.pool
  local from, fitNone = 0, false
  while from < 32 do
    local last = 0
    if from > 0 then last = 31 end
    local candidates = redis.call('ZRANGE', runKey, from, last)
    if #candidates == 0 then break end
    for index = 1, #candidates do
      local id = candidates[index]
      local record = workerKey(tag, id)
      local field = redis.call('HMGET', record, unpack(grantFields))
      local starts = tonumber(field[grantIndex.starts] or '0')
      local alone = tonumber(field[grantIndex.alone] or '0')
      if field[grantIndex.state] ~= 'queued' then
        redis.call('ZREM', runKey, id)
      elseif not string.find(claim.kinds, ' ' .. field[grantIndex.kind] .. ' ', 1, true) then
        fitNone = true
      else
        local mark = 'run'
        local suspect = starts >= claim.suspectAfter
        local path = readPath(record, tonumber(field[grantIndex.depth]))
        if cancelHit(tag, field[grantIndex.session], path, id, field[grantIndex.run]) then
          mark = 'cancelled'
        elseif alone >= claim.poisonAfter then
          mark = 'poison'
        end
        if mark == 'run' and suspect and claim.maySuspect ~= '1' then
          fitNone = true
        else
          local epoch = tonumber(field[grantIndex.epoch] or '0') + 1
          local token = digits(epoch) .. ':' .. claim.nonce
          local reply = readGrant(tag, id, field, token, mark, claim.mailBytes)
          redis.call('ZREM', runKey, id)
          local changes = { 'state', 'running', 'epoch', digits(epoch), 'token', token, 'node', claim.node }
          if mark == 'run' then
            changes[#changes + 1] = 'starts'
            changes[#changes + 1] = digits(starts + 1)
            if suspect then
              changes[#changes + 1] = 'alone'
              changes[#changes + 1] = digits(alone + 1)
            end
            if field[grantIndex.open] ~= '1' and (field[grantIndex.attempt] or '0') == '0' then
              -- A run starts: what the last one failed with is no longer true of this worker.
              changes[#changes + 1] = 'fsm'
              changes[#changes + 1] = 'ProcessingUserMessage'
              if field[grantIndex.failed] == '1' then
                changes[#changes + 1] = 'failed'
                changes[#changes + 1] = '0'
                redis.call('DEL', record .. ':failure')
              end
            end
          end
          redis.call('HSET', record, unpack(changes))
          redis.call('ZADD', tag .. ':leases', digits(now + claim.leaseMs), id)
          redis.call('HSET', tag .. ':grants:' .. claim.node, claim.slot, claim.nonce .. ' ' .. id .. ' ' .. token .. ' ' .. mark)
          if claim.bell ~= '' then
            redis.call('ZADD', tag .. ':bells:' .. claim.pool, digits(now + claim.bellMs), claim.bell)
            if claim.wasBusy == '1' then redis.call('ZREM', tag .. ':busy:' .. claim.pool, claim.bell) end
          end
          reply[9] = suspect and '1' or '0'
          return reply
        end
      end
    end
    from = from == 0 and 1 or 32
  end
  if claim.bell ~= '' then
    redis.call('ZREM', tag .. ':bells:' .. claim.pool, claim.bell)
    if claim.wasBusy == '1' then redis.call('ZREM', tag .. ':busy:' .. claim.pool, claim.bell) end
  end
  return { fitNone and 'unfit' or 'empty' }
end

-- The grant that this slot was given under this nonce, if the worker's token is still that one; nil otherwise.
local function sameGrant(tag, claim)
  local held = redis.call('HGET', tag .. ':grants:' .. claim.node, claim.slot)
  if not held then return nil end
  local nonce, id, token, mark = string.match(held, '^(%S+) (%S+) (%S+) (%S+)$')
  if nonce ~= claim.nonce then return nil end
  local field = redis.call('HMGET', workerKey(tag, id), unpack(grantFields))
  if field[grantIndex.token] ~= token then return nil end
  local reply = readGrant(tag, id, field, token, mark, claim.mailBytes)
  reply[9] = tonumber(field[grantIndex.starts] or '0') > claim.suspectAfter and '1' or '0'
  return reply
end
