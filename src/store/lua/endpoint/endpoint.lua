--[[ endpoint – writes or removes the record of an endpoint, unless somebody changed it after the caller read it.
Why a script   if two callers change an endpoint at once, the second must not overwrite the first: a replaced secret would come back.
KEYS[1] endpoints hash
ARGV[1] id            ARGV[2] before   the record as it was read, json; empty: there was none
ARGV[3] after         the record, json; empty: it goes                  ARGV[4] most     how many endpoints there may be
Returns {"ok"} | {"changed"}: the record is not as the caller read it | {"full"}: there are too many endpoints
Builds  nothing.
Events  none: it is about no session. Writes nothing unless it returns "ok". ]]
local endpointsKey = KEYS[1]
local id, before, after, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

checkArguments(most)
local found = redis.call('HGET', endpointsKey, id) or ''
if found == after then return { 'ok' } end
if found ~= before then return { 'changed' } end -- guard: an endpoint that somebody else changed is not overwritten
if after == '' then
  redis.call('HDEL', endpointsKey, id)
elseif found == '' and redis.call('HLEN', endpointsKey) >= most then -- guard: endpoints are bounded
  return { 'full' }
else
  redis.call('HSET', endpointsKey, id, after)
end
return { 'ok' }
