--[[ listen – registers an endpoint for notices of this partition, or removes it.
Why a script   the time since which it listens must be the time of this Redis at which scripts begin to write notices for it.
KEYS[1] since     zset
ARGV[1] id            ARGV[2] listens     "1" or "0"
Returns {"ok"}
Builds  nothing.
Events  none: it is about no session. ]]
local sinceKey = KEYS[1]
local id, listens = ARGV[1], ARGV[2]

checkLast(listens)
if listens == '1' then
  redis.call('ZADD', sinceKey, 'NX', digits(nowMs()), id) -- guard: an endpoint that listens already keeps the time from which it listens
else
  redis.call('ZREM', sinceKey, id)
end
return { 'ok' }
