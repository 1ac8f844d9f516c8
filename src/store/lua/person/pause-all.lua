--[[ pause-all – pauses all sessions of this partition, or resumes them. Nodes learn of it with their next sweep, and a notice makes them sweep at once.
Why a script   a second pause must not replace the first.
KEYS[1] meta      hash               KEYS[2] idem      string
ARGV[1] note      json: who paused it, why and when; empty: resume       ARGV[2] channel  of notices
ARGV[3] idemMs    how long the key of this call is known
Returns {"ok"}
Builds  nothing.
Events  none: it is about no session. A known key: the call is sent again, and must not undo a resume, or a pause, that came after it. ]]
local metaKey, idemKey = KEYS[1], KEYS[2]
local note, channel, idemMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

if readAnswer(idemKey, '^(ok)$') then return { 'ok' } end -- guard: a pause of all sessions that is sent again undoes no resume
checkSort('hash', metaKey)
checkArguments(idemMs)
if idemMs == 0 then error('the argument idemMs should be a number above 0', 0) end
if note == '' then
  redis.call('HDEL', metaKey, 'paused')
elseif redis.call('HEXISTS', metaKey, 'paused') == 0 then -- guard: the first pause of all sessions stands
  redis.call('HSET', metaKey, 'paused', note)
end
redis.call('SET', idemKey, 'ok', 'PX', digits(idemMs))
redis.call('PUBLISH', channel, '*')
return { 'ok' }
