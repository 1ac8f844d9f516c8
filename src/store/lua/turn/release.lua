--[[ release – records the last words of a node that dies or stands still, and releases its workers: other nodes run them at once, without a wait for
the ends of their leases.
Why a script   only the holder of a token may give up its lease, and a start that does not count must be taken back with it.
KEYS[1] leases    zset               KEYS[2] nodes    hash               KEYS[3] events   stream
ARGV[1] header    json:
  node             id
  wakeupMs         how long a wake-up counts as sent
  seed             names of new wake-ups begin with it
  ends             true: the node ends, or stands still. Absent: it still runs, and only the words are kept
  event            type of the event that says so
  turns            of the node, each:
    worker, token  which the node holds
    isCounted      true: the start counts, because code of this worker is the cause
    isIsolated     true: it was an isolated start
  author           worker whose code is the cause, even if its turn is over; absent: unknown
ARGV[2] words     the last words; empty: there are none
Returns {held}: how many of these workers the node held until now. Their wake-ups are published; if no node receives one, a sweep finds the work.
Builds  T:seen; T:node-slots; T:w:<id> of the turns, of the author and of their roots; T:claims of the node; T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake and T:wake
        of the pools; T:pools.
Events  worker.interrupted, or worker.blocked. Writes nothing for a turn that has another token by now. ]]
local leasesKey, nodesKey, eventsKey = KEYS[1], KEYS[2], KEYS[3]
local header, words = readHeader(ARGV[1]), ARGV[2]

local tag = tagOf(leasesKey)
local now = nowMs()
checkTexts(header, 'node', 'seed', 'event')
checkTextsIfAny(header, 'author')
checkNumbers(header, 'wakeupMs')
checkLast(words)
local turns, ends, saysSome = listOf(header, 'turns'), header.ends, words ~= ''
for index = 1, #turns do checkTexts(turns[index], 'worker', 'token') end
checkSort('zset', leasesKey)
checkSort('hash', nodesKey)
checkSort('stream', eventsKey)

-- The record of a turn that this node still holds; nil for another turn, and for a record that cannot be read.
local function readHeldTurn(turn)
  local key = workerKey(tag, turn.worker)
  local fields = readRecord(key)
  if fields.token ~= turn.token or fields.status ~= 'running' then return nil end -- guard: token check of release
  checkRecord(key, fields)
  checkSort('hash', rootKeyOf(tag, sessionOf(turn.worker, fields.path1)))
  checkSort('zset', tag .. ':run:' .. (fields.pool or atStart.pool))
  return fields
end

local held, facts, woke = {}, {}, newWakes()
for index = 1, #turns do
  local fine, fields = pcall(readHeldTurn, turns[index])
  if not fine and not damageOf(fields) then error(fields, 0) end
  if fine and fields then held[#held + 1] = { turn = turns[index], fields = fields } end
end
for index = 1, #held do
  local turn, fields = held[index].turn, held[index].fields
  local key, session = workerKey(tag, turn.worker), sessionOf(turn.worker, fields.path1)
  local epoch = tonumber(string.match(turn.token, '^%d+'))
  local _, committed = epochOf(fields)
  local starts = epoch - committed
  if ends then
    if not turn.isCounted then
      epoch, starts = epoch - 1, math.max(0, starts - 1) -- guard: a start that is not to blame is not counted
      if turn.isIsolated and fields.isolated then redis.call('HSET', key, 'isolated', digits(math.max(0, tonumber(fields.isolated) - 1))) end -- guard: an isolated start that is not to blame is not counted
    end
    redis.call('HSET', key, 'token', digits(epoch) .. ':', 'crashes', digits(tonumber(fields.crashes or atStart.crashes) + 1)) -- guard: token cleared with the release
    redis.call('ZREM', leasesKey, turn.worker)
    writeWokenRecord(tag, { id = turn.worker, session = session, pool = fields.pool or atStart.pool }, now, woke)
  end
  if saysSome and (ends or turn.isCounted) then redis.call('HSET', key, 'lastWords', words) end
  if ends or turn.isCounted then
    facts[#facts + 1] = fields.parent and (session .. ' ' .. turn.worker) or session
    facts[#facts + 1] = startsNote(header.event, starts, words)
  end
end
writeQueues(tag, woke)
if saysSome and header.author then
  local key = workerKey(tag, header.author)
  -- A key that holds no record is left as it is.
  if redis.pcall('HEXISTS', key, 'kind') == 1 then redis.call('HSET', key, 'lastWords', words) end -- guard: last words make no record
end
if ends then
  removeNode(tag, header.node)
end
if #facts > 0 then writeEvents(eventsKey, facts) end
writeWakeupsOf(tag, woke.pools, header.seed, now, header.wakeupMs)
return { #held }
