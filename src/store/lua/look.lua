--[[ look – reads some workers and their session at one moment, for the audit. Writes nothing.
Why a script   in separate reads, a record and its sets would disagree on a running system without any fault.
KEYS[1] leases    zset               KEYS[2] timers   zset               KEYS[3] sessions zset
KEYS[4] cancelling set              KEYS[5] ends     zset
ARGV[1] header    json:
  session          id; absent: only workers are read
  workers          ids
  pools            others than their own, in whose run queues the workers are looked for: few, since each worker is looked for in each
  headBytes        how many bytes of each mail are returned
  budget           how many bytes of mails this call reads at most
Returns {session, workers, pools}
        pools: those of these workers whose run queue cannot be read
        session: empty, or a list of
          the record of its root
          the workers that its list names
          the ids that are cancelled
          1 if the index has it
          1 if it is being cancelled
          what is wrong with its keys
          blobs that differ from the index, each {id, bytes by the index, bytes of its key}; "bytes" in place of the id: their sum
          its score among the ends
          1 if workers are left to end, else 0
        workers: for each {id, record, history length, failure, signals, results, inbox, timers, leased, pools, retry, asks, listed, gate, large}
          signals, results, inbox: {length, heads of mails, 1 if these are all}
          timers: {id, 1 if it has a time, else 0}; null, like asks: too many were read of other workers, so that a call for this one alone is to
          read them
          leased, retry, listed, gate: whether a lease, a time of its retry, the list of the session and its gate have it
          pools: those in whose run queue it is: its own, and others that were asked for
          asks: {id, worker, run, state, it expires, in the inbox, its expiry is timed, what is wrong with its record or nothing}
          large: the calls whose large results are beside the lane of results
          a worker without a record is {id, listed}; null: too many others were looked for in a long list, so that a call for this one alone is to
          look
          a worker with a key of another type is {id, "damaged", what is wrong with each key}
        Null means that this could not be read.
Builds  T:w:<id> and the keys of T:w:<id> and T:s:<session>, its blobs too; T:run and T:kind-queues of the pools; T:asks and T:ask:<id> of what was asked; T:gates and T:gate:<gate> of their gates, its in and waiting.
A key of another type is named, and everything else is returned.
Events  none. ]]
local leasesKey, timersKey, sessionsKey, cancellingKey, endsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local header = readHeader(ARGV[1])

local tag = tagOf(leasesKey)
checkTextsIfAny(header, 'session')
checkNumbers(header, 'headBytes', 'budget')
local session, headBytes, budget = header.session, header.headBytes, header.budget
local pools, asked = textsOf(header, 'pools'), textsOf(header, 'workers')

-- Keys of the partition that cannot be read, and the pools of those that are queues, each with true.
local unread, unreadPools = {}, {}
local function checkRead(sort, key)
  local fine, why = pcall(checkSort, sort, key)
  if not fine and not damageOf(why) then error(why, 0) end
  if not fine then unread[key] = true end
  return fine
end

-- What is wrong with these keys, given as sort and key; when nothing is, what else was thrown.
local function brokenOf(thrown, ...)
  local said = damageOf(thrown)
  if not said then error(thrown, 0) end
  local sorted, found = { ... }, {}
  for index = 1, #sorted, 2 do
    local fine, why = pcall(checkSort, sorted[index], sorted[index + 1])
    if not fine then found[#found + 1] = damageOf(why) end
  end
  return #found > 0 and found or { said }
end

-- The heads of a lane's mails, one after the other for as long as the budget lasts: each may have a megabyte, and to read one costs as much as bytes do.
local function headsOf(laneKey)
  local length, heads, mailCosts = redis.call('LLEN', laneKey), {}, 400
  while #heads < length do
    if budget <= 0 then return { length, heads, 0 } end
    local mail = redis.call('LINDEX', laneKey, #heads)
    budget = budget - #mail - mailCosts -- guard: an audit reads few bytes of mails at once
    heads[#heads + 1] = string.sub(mail, 1, headBytes)
  end
  return { length, heads, 1 }
end

local function isIn(zsetKey, member)
  if unread[zsetKey] then return false end
  return redis.call('ZSCORE', zsetKey, member) and 1 or 0
end

local function timersOf(id, record)
  local found = {}
  local ids = redis.call('HKEYS', record .. ':timers')
  for index = 1, #ids do found[index] = { ids[index], isIn(timersKey, id .. ':' .. ids[index]) } end
  return found
end

-- An ask that its worker holds open. If its record cannot be read, the answer says what is wrong with it.
local function askOf(id, ask)
  local fine, record = pcall(readFields, askKey(tag, ask), 'worker', 'run', 'state', 'expires')
  if not fine then return { ask, '', '', '', 0, isIn(tag .. ':asks', ask), 0, brokenOf(record, 'hash', askKey(tag, ask)) } end
  local worker, run, state, expires = unpack(record, 1, 4)
  return { ask, worker or '', run or '', state or '', expires and 1 or 0, isIn(tag .. ':asks', ask), isIn(timersKey, expiryOf(id, ask)), {} }
end

local function asksOf(id, record)
  local found, asks = {}, redis.call('SMEMBERS', record .. ':asks')
  for index = 1, #asks do found[index] = askOf(id, asks[index]) end
  return found
end

-- If workers have very many timers and asks, one call reads few of these workers, and the first one in any case.
local workers, signals, signalsMost = {}, 0, 500
local function signalsOf(id, record)
  local count = redis.call('HLEN', record .. ':timers') + redis.call('SCARD', record .. ':asks')
  signals = signals + count
  if count > 0 and #workers > 0 and signals > signalsMost then return false, false end -- guard: an audit reads few timers and asks at once
  return timersOf(id, record), asksOf(id, record)
end

-- To look for one worker in a long list costs as much as the list is long.
local about, isAboutWhole, searched, searchedMost = {}, true, 0, 20000
local function listed(id)
  if not session or id == rootOf(session) then return 1 end
  if not isAboutWhole then return 0 end
  local key = sessionKey(tag, session) .. ':workers'
  local isFirst = searched == 0
  searched = searched + redis.call('LLEN', key)
  if not isFirst and searched > searchedMost then return false end -- guard: an audit looks for few workers in a long list at once
  return redis.call('LPOS', key, id) and 1 or 0
end

-- Does the gate at which the run waits, or is in progress, have the worker? false: a key of the gate cannot be read, or the record names no gate.
local function gateHas(id, fields)
  local own = readGates(fields.gates)
  if own and own.version and own.state ~= 'out' then
    return redis.pcall('ZSCORE', tag .. ':gates', guestText(fields.kind, id, own)) and 1 or 0
  end
  local sort = own and (own.state == 'in' and 'runs' or own.state)
  local gate = sort and own[sort] and gateOf(fields.kind, sort, own[sort])
  if not gate then return false end
  local there = redis.pcall('ZSCORE', gateKey(tag, gate) .. (own.state == 'in' and ':in' or ':waiting'), id)
  if type(there) == 'table' then return false end
  return there and 1 or 0
end

local function pictureOf(id)
  local record = workerKey(tag, id)
  local flat = redis.call('HGETALL', record)
  if #flat == 0 then return { id, listed(id) } end
  -- Nothing here needs this value, but a key of the wrong sort must be found like the others.
  redis.call('STRLEN', record .. ':state')
  local queued, fields = {}, {}
  for index = 1, #flat, 2 do fields[flat[index]] = flat[index + 1] end
  local own = fields.pool or atStart.pool
  local run = tag .. ':run:' .. own
  if not checkRead('zset', run) then unreadPools[own] = true end
  for index = 1, #pools do
    local other = tag .. ':run:' .. pools[index]
    if other ~= run and checkRead('zset', other) and isIn(other, id) == 1 then queued[#queued + 1] = pools[index] end -- guard: a worker in the run queue of another pool is seen
  end
  -- A damaged record may name no kind: then it stands in no such queue.
  local kindQueue = kindQueueKey(tag, own, tostring(fields.kind))
  if not checkRead('zset', kindQueue) then unreadPools[own] = true end
  if isIn(kindQueue, id) == 1 then queued[#queued + 1] = own end -- guard: a worker in the queue of its kind is queued
  -- Its own pool may be one that nobody registered: then it stands in a run queue at which nobody looks.
  if isIn(run, id) == 1 then queued[#queued + 1] = own end -- guard: a run queue that nobody knows is looked at for its own workers
  if fields.status == 'queued' then
    -- A pause keeps the worker's place. If its session is not paused, and no resume goes on, nobody would put the worker back.
    local of = sessionOf(id, fields.path1)
    local isKept = redis.call('ZSCORE', heldKeyOf(tag, of), id) and (redis.call('HGET', rootKeyOf(tag, of), 'paused') or isIn(timersKey, returnOf(of)) == 1) -- guard: a worker that a resume has left is no finding
    if isKept then queued[#queued + 1] = fields.pool or atStart.pool end
  end
  local results, signals, inbox = headsOf(record .. laneKeys.results), headsOf(record .. laneKeys.signals), headsOf(record .. laneKeys.inbox)
  local timers, asks = signalsOf(id, record)
  return {
    id, flat, redis.call('LLEN', record .. ':log'), redis.call('GET', record .. ':failure') or '', signals, results, inbox,
    timers, isIn(leasesKey, id), queued, isIn(timersKey, id .. ':retry'), asks, 1, gateHas(id, fields), redis.call('HKEYS', largeKeyOf(record)),
  }
end

-- The blobs for which the index and the stored bytes disagree.
local function brokenBlobs(key)
  local found, sum, told = {}, 0, '0'
  local flat = redis.call('HGETALL', key .. ':blobs')
  for index = 1, #flat, 2 do
    local id, bytes = flat[index], string.match(flat[index + 1], '^%d+')
    if id == 'bytes' then
      told = flat[index + 1]
    else
      local there = redis.call('STRLEN', key .. ':blob:' .. id)
      if there ~= tonumber(bytes or '') then found[#found + 1] = { id, bytes or '', digits(there) } end
      sum = sum + (tonumber(bytes or '') or 0)
    end
  end
  if told ~= digits(sum) then found[#found + 1] = { 'bytes', told, digits(sum) } end
  return found
end

local function aboutOf(key)
  -- Nothing here needs these values, but a key of the wrong sort must be found like the others.
  redis.call('HLEN', key .. ':results')
  redis.call('HLEN', permissionsKeyOf(tag, session))
  redis.call('ZCARD', key .. ':asks')
  return {
    redis.call('HGETALL', rootKeyOf(tag, session)),
    redis.call('LLEN', key .. ':workers'),
    redis.call('SMEMBERS', key .. ':cancelled'), isIn(sessionsKey, session),
    not unread[cancellingKey] and redis.call('SISMEMBER', cancellingKey, session), {},
    brokenBlobs(key),
    not unread[endsKey] and (redis.call('ZSCORE', endsKey, session) or ''),
    (redis.call('HEXISTS', rootKeyOf(tag, session), 'endFrom') == 1 or redis.call('SCARD', endingKeyOf(tag, session)) > 0) and 1 or 0,
  }
end

checkRead('zset', leasesKey)
checkRead('zset', timersKey)
checkRead('zset', sessionsKey)
checkRead('zset', endsKey)
checkRead('zset', tag .. ':asks')
checkRead('set', cancellingKey)
if session then
  local key = sessionKey(tag, session)
  isAboutWhole, about = pcall(aboutOf, key)
  if not isAboutWhole then
    about = { {}, 0, {}, isIn(sessionsKey, session), false, brokenOf(about, 'hash', rootKeyOf(tag, session), 'hash', key .. ':results',
      'list', key .. ':workers', 'set', key .. ':cancelled', 'zset', key .. ':asks', 'hash', key .. ':blobs', 'set', endingKeyOf(tag, session), 'hash', permissionsKeyOf(tag, session)), {}, false, 0 }
  end
end
for index = 1, #asked do
  local id = asked[index]
  local fine, found = pcall(pictureOf, id)
  if not fine then
    local record = workerKey(tag, id)
    found = { id, 'damaged', brokenOf(found, 'hash', record, 'list', record .. ':log', 'string', record .. ':state', 'string', record .. ':failure',
      'hash', record .. ':timers', 'set', record .. ':asks', 'list', record .. laneKeys.signals, 'list', record .. laneKeys.results, 'hash', largeKeyOf(record), 'list', record .. laneKeys.inbox) }
  end
  workers[#workers + 1] = found
end
local poolsUnread = {}
for pool in pairs(unreadPools) do poolsUnread[#poolsUnread + 1] = pool end
return { about, workers, poolsUnread }
