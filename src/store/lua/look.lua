--[[ look – a picture of some workers, and of their session, at one moment, for the audit. Writes nothing.
Why a script   read one after the other, a record and the sets it stands in would disagree on a running system without any fault.
KEYS[1] leases    zset               KEYS[2] timers   zset               KEYS[3] sessions zset
KEYS[4] cancelling set
ARGV[1] session       id; empty: workers alone
ARGV[2] headBytes     of each mail that are answered             ARGV[3] budget       most bytes of mails that are read in this call
ARGV[4] asked         count of pools, then their names; then the ids of workers
Returns {session, workers}. session: empty, or {fields, workers listed, cancelled, in the index, being cancelled}. Of each worker
        {id, record, history length, failure, control, family, user, timers, leased, pools it is queued in, retry is timed, listed},
        each lane as {length, heads, whole}, timers as {id, 1 or 0: it has a time}; without a record {id, listed}.
Builds  T:s:<session>, T:w:<id> and their keys; T:run of the pools.
Events  none. ]]
local leasesKey, timersKey, sessionsKey, cancellingKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local session, headBytes, budget = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local asked, cursor = ARGV, 4

local tag = tagOf(leasesKey)
local pools, poolCount = {}, tonumber(asked[cursor])
checkArguments(headBytes, budget, poolCount)
if poolCount > #asked - cursor then error('the list of pools should be as long as its count says', 0) end
for index = 1, poolCount do pools[index] = asked[cursor + index] end
cursor = cursor + #pools + 1

-- The heads of a lane's mails, in pieces, for as long as the budget lasts.
local function headsOf(laneKey)
  local length, heads = redis.call('LLEN', laneKey), {}
  while #heads < length do
    if budget <= 0 then return { length, heads, 0 } end
    local piece = redis.call('LRANGE', laneKey, #heads, #heads + 15)
    for index = 1, #piece do
      budget = budget - #piece[index]
      heads[#heads + 1] = string.sub(piece[index], 1, headBytes)
    end
  end
  return { length, heads, 1 }
end

local function isIn(zsetKey, member)
  return redis.call('ZSCORE', zsetKey, member) and 1 or 0
end

local function timersOf(id, record)
  local found = {}
  local ids = redis.call('HKEYS', record .. ':timers')
  for index = 1, #ids do found[index] = { ids[index], isIn(timersKey, id .. ':' .. ids[index]) } end
  return found
end

local function listed(id)
  if session == '' or id == rootOf(session) then return 1 end
  return redis.call('LPOS', sessionKey(tag, session) .. ':workers', id) and 1 or 0
end

local function pictureOf(id)
  local record = workerKey(tag, id)
  local flat = redis.call('HGETALL', record)
  if #flat == 0 then return { id, listed(id) } end
  local queued = {}
  for index = 1, #pools do
    if isIn(tag .. ':run:' .. pools[index], id) == 1 then queued[#queued + 1] = pools[index] end
  end
  local family, control, user = headsOf(record .. laneKeys.family), headsOf(record .. laneKeys.control), headsOf(record .. laneKeys.user)
  return {
    id, flat, redis.call('LLEN', record .. ':log'), redis.call('GET', record .. ':failure') or '', control, family, user,
    timersOf(id, record), isIn(leasesKey, id), queued, isIn(timersKey, id .. ':retry'), 1,
  }
end

local about = {}
if session ~= '' then
  local key = sessionKey(tag, session)
  about = {
    redis.call('HMGET', key, 'schema', 'state', 'ended', 'workers', 'cancel', 'marks', 'retired'), redis.call('LLEN', key .. ':workers'),
    redis.call('SMEMBERS', key .. ':cancelled'), isIn(sessionsKey, session), redis.call('SISMEMBER', cancellingKey, session),
  }
end
local workers = {}
for index = cursor, #asked do workers[#workers + 1] = pictureOf(asked[index]) end
return { about, workers }
