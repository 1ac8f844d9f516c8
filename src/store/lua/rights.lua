--[[ rights – finds the commands that scripts call and that the user of this connection may not call.
Why a script   a script that meets a forbidden command stops there, and Redis does not undo what it wrote before.
KEYS[1] meta      hash
ARGV[1] channel   of cancel notices
Returns {"ok"} | {"refused", names}: names of the refused commands, each followed by a space
Builds  T:rights, a key that never exists.
Events  none. Each command is called so that it changes nothing: with what is stored already, on a key of another sort, or on none. ]]
local metaKey, channel = KEYS[1], ARGV[1]

local function isRefused(reply)
  if type(reply) ~= 'table' or not reply.err then return false end
  -- The first words are those of Redis 6.2, then of 7.0, then of 7.2 and later.
  return string.find(reply.err, 'NOPERM', 1, true) or string.find(reply.err, 'user executing the script', 1, true) or
    string.find(reply.err, 'ACL failure', 1, true)
end

checkLast(channel)
local tag = tagOf(metaKey)
local none = tag .. ':rights'
local schema = redis.pcall('HGET', metaKey, 'schema')
if isRefused(schema) then return { 'refused', 'HGET ' } end
if type(schema) ~= 'string' or not isWhole(tonumber(schema)) then
  throwDamage('field schema of ' .. metaKey .. ' should be a whole number')
end
local calls = {
  { 'SET', metaKey, '', 'NX' }, { 'GET', none }, { 'APPEND', metaKey, '' }, { 'MGET', none }, { 'STRLEN', none }, { 'DEL', none }, { 'UNLINK', none },
  { 'EXISTS', none }, { 'RENAME', none, none .. ':copy' }, { 'COPY', none, none .. ':copy' }, { 'PEXPIRE', none, '1000' }, { 'PERSIST', none }, { 'TYPE', none }, { 'TIME' }, { 'PUBLISH', channel, '' }, { publishCommand, channel, '' },
  { 'HSET', metaKey, 'schema', schema }, { 'HINCRBY', metaKey, 'schema', '0' }, { 'HDEL', metaKey, '' }, { 'HGETALL', none },
  { 'HMGET', none, '' }, { 'HEXISTS', none, '' }, { 'HKEYS', none }, { 'HLEN', none }, { 'HRANDFIELD', none },
  { 'RPUSH', metaKey, '' }, { 'LPOP', none }, { 'LSET', none, '0', '' }, { 'LTRIM', none, '0', '0' }, { 'LRANGE', none, '0', '0' },
  { 'LINDEX', none, '0' }, { 'LLEN', none }, { 'LPOS', none, '' },
  { 'SADD', metaKey, '' }, { 'SREM', none, '' }, { 'SMEMBERS', none }, { 'SISMEMBER', none, '' }, { 'SMISMEMBER', none, '' },
  { 'SCARD', none }, { 'SRANDMEMBER', none, '1' },
  { 'ZADD', metaKey, '0', '' }, { 'ZINCRBY', metaKey, '0', '' }, { 'ZREM', none, '' }, { 'ZREMRANGEBYSCORE', none, '0', '0' }, { 'ZRANGE', none, '0', '0' },
  { 'ZRANGEBYSCORE', none, '0', '0' }, { 'ZSCORE', none, '' }, { 'ZCARD', none }, { 'ZCOUNT', none, '0', '0' },
  { 'XADD', metaKey, '*', '', '' }, { 'XTRIM', none, 'MAXLEN', '0' }, { 'MEMORY', 'USAGE', none }, { 'XRANGE', none, '-', '+' }, { 'XLEN', none },
}
local refused = ''
for index = 1, #calls do
  if isRefused(redis.pcall(unpack(calls[index]))) then refused = refused .. calls[index][1] .. ' ' end
end
if refused ~= '' then return { 'refused', refused } end
return { 'ok' }
