--[[ pause-all – pauses all sessions of this partition, or resumes them. Nodes learn of it with their next sweep, and a notice makes them sweep at once.
Why a script   a second pause must not replace the first.
KEYS[1] meta      hash
ARGV[1] note      json: who paused it, why and when; empty: resume       ARGV[2] channel  of notices
Returns {"ok"}
Builds  nothing.
Events  none: it is about no session. ]]
local metaKey = KEYS[1]
local note, channel = ARGV[1], ARGV[2]

checkSort('hash', metaKey)
checkLast(channel)
if note == '' then
  redis.call('HDEL', metaKey, 'paused')
elseif redis.call('HEXISTS', metaKey, 'paused') == 0 then -- guard: the first pause of all sessions stands
  redis.call('HSET', metaKey, 'paused', note)
end
redis.call('PUBLISH', channel, '*')
return { 'ok' }
