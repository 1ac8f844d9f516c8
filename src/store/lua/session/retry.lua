--[[ retry – lets the failed run of a session's root go on: the run is open again, and the root is queued.
Why a script   an active session whose root is not queued would wait for ever, and only one of two simultaneous retries may count.
KEYS[1] root      hash               KEYS[2] log      list               KEYS[3] signals  list
KEYS[4] inbox     list               KEYS[5] failure  string             KEYS[6] results  hash
KEYS[7] dead      stream             KEYS[8] redriven zset               KEYS[9] run      zset   declared
KEYS[10] events   stream
ARGV[1] header    json:
  sessionId        id
  version          of the record that the caller read, as text
  run              the one that failed
  runState         state of the run from which it goes on
  calls            how many children the run has spawned
  steps            how many steps of a handler it has recorded; absent: none
  entries          how many of the texts are history entries
  modelCalls       for its agents together; absent, here and below: unchanged
  tokens           for its agents together
  toolCalls        for its agents together
  start            the three defaults, as text, for a session without caps
  letter           id of the dead letter with the message of the run, which was never received: the message goes back into the mailbox, and
                   the next run receives it; absent: the run goes on
  seed             names of new wake-ups begin with it; a call that is sent again is known by it
  wakeupMs         how long a wake-up counts as sent
ARGV[2] event     json
ARGV[3] mail      that is received again; empty: none
ARGV[4] texts     entries of the history, as many as their count
Returns {"ok", wakeups}: the run goes on, by this call or an earlier try of it
        | {"not_found"} | {"not_failed", state}: its last run did not fail, or the session is cancelled
        | {"moved"}: the record is not as the caller read it | {"ending"}: some children of the failed run are not cancelled yet
        | {"no_letter"}: the letter holds no message of this worker, or was put back before
Builds  T:w:<root>; T:open-letters; T:sessions, T:ends; T:s:<session>:cancelled; T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake and T:wake of the root's pool; T:nodes, T:pools.
Events  session.retried. Writes nothing unless it returns "ok". ]]
local rootKey, logKey, signalsKey, inboxKey, failureKey, resultsKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local deadKey, redrivenKey, eventsKey = KEYS[7], KEYS[8], KEYS[10]
local header, event, mail = readHeader(ARGV[1]), ARGV[2], ARGV[3]
local texts, cursor = ARGV, 4

local tag = tagOf(rootKey)
checkTexts(header, 'sessionId', 'version', 'runState', 'start', 'seed')
checkTextsIfAny(header, 'letter')
checkNumbers(header, 'run', 'calls', 'entries', 'wakeupMs')
checkNumbersIfAny(header, 'steps', 'modelCalls', 'tokens', 'toolCalls')
checkLast(mail)
if cursor + header.entries - 1 > #texts then error('the texts should be as many as the entries', 0) end
local root = rootOf(header.sessionId)
local record = readRecord(rootKey)
if not record.kind or record.parent then return { 'not_found' } end -- guard: a session that is asked to retry has a root
local retries, seed, wakeups
if record.retried then retries, seed, wakeups = string.match(record.retried, '^(%d+) (%S+) ?(%S*)$') end
if seed == header.seed then return { 'ok', wakeups } end -- guard: a session is retried once by one call
checkRecord(rootKey, record)
local state = stateOf(record.cancel, record.ended)
local isOpen = state == 'active' and record.mode == 'conversation'
if state ~= 'failed' and not isOpen then return { 'not_failed', state } end -- guard: only a failed session is retried
if record.failed ~= '1' and record.status == 'idle' then return { 'not_failed', state } end -- guard: only a failed run is retried
local isSame = (record.version or '0') == header.version and record.run == digits(header.run + 1)
if not isSame or record.status ~= 'idle' or record.open == '1' then return { 'moved' } end -- guard: a retry goes on from the record that its caller read
if (record.retired or atStart.retired) ~= '0' then return { 'not_found' } end -- guard: a session that is being pruned is not retried
local letter = header.letter
-- The children that the run spawns from now on must not fall under the cancel of its earlier children.
if not letter then record.run = digits(header.run) end
local cancelled = readCancellation(tag, record, root)
if cancelled == 'whole' then return { 'not_failed', 'cancelled' } end -- guard: a session whose workers were cancelled is not retried
if cancelled then return { 'ending' } end -- guard: a child that a retried run spawns is not cancelled at once
checkSort('list', logKey, signalsKey, inboxKey)
checkSort('zset', tag .. ':sessions', endsKeyOf(tag))
checkSort('hash', resultsKey)
local back
if letter then
  checkSort('stream', deadKey)
  checkSort('zset', redrivenKey)
  local at = string.match(letter, '^(%d+)%-%d+$')
  local disposition = at and dispositionOf(redrivenKey, letter, at)
  local fields = at and readLetter(deadKey, letter) or {}
  if fields.worker ~= root or not fields.mail or string.find(disposition or '', '^%d') then return { 'no_letter' } end -- guard: a letter that was put back is not retried
  back = { at = at, mail = fields.mail, disposition = disposition, position = tonumber(record.inbox or atStart.inbox) + lengthOf(inboxKey) }
end
local caps = capsWith(rootKey, record.caps, header.start, header) -- guard: a retry changes only the limits that it sets

local now, woke = nowMs(), newWakes()
local changes = { 'wait', atStart.wait }
local function set(field, value)
  changes[#changes + 1] = field
  changes[#changes + 1] = value
end
if caps ~= (record.caps or header.start) then set('caps', caps) end
if back then
  redis.call('RPUSH', inboxKey, back.mail)
  if back.disposition then redis.call('ZREM', redrivenKey, letter .. ' ' .. back.disposition) end
  writeDisposition(redrivenKey, deadKey, letter, back.at, digits(back.position) .. ' ')
  -- The run that ended the session stays failed; another one follows.
  local position = record.ended and string.match(record.ended, '^%a+ %d+ %d+ (%d+)$')
  if position then redis.call('HSET', resultsKey, digits(header.run), 'failed ' .. position) end -- guard: a retried session keeps the result of its failed run
else
  -- The first write, so it may fail.
  redis.call('RPUSH', logKey, unpack(texts, cursor, cursor + header.entries - 1))
  if mail ~= '' then
    redis.call('RPUSH', signalsKey, mail)
    set('signalsOpen', '1')
  end
  redis.call('HDEL', resultsKey, digits(header.run)) -- guard: a run that goes on has no result yet
  redis.call('DEL', failureKey)
  set('run', record.run)
  set('open', '1')
  set('runState', header.runState)
  set('calls', digits(header.calls)) -- guard: children of a retried run get new numbers
  if header.steps then set('steps', digits(header.steps)) end -- guard: a retried run keeps the steps that it recorded
  set('attempt', atStart.attempt)
  set('failed', atStart.failed)
  -- It counts as a commit that no turn made.
  set('commit', (record.commit or '0::0') .. ':' .. digits(tonumber(record.version or 0) + 1)) -- guard: a retry is a new version of the record
end
redis.call('HDEL', rootKey, 'ended', 'resting') -- guard: a retried session has not ended
local createdAt = tonumber(redis.call('ZSCORE', tag .. ':sessions', header.sessionId) or now)
redis.call('ZADD', endsKeyOf(tag), goesOnSince(createdAt), header.sessionId) -- guard: a retried session goes on
writeWokenRecord(tag, { id = root, session = header.sessionId, pool = record.pool or atStart.pool, root = record }, now, woke)
writeQueues(tag, woke)
wakeups = writeWakeupsOf(tag, woke.pools, header.seed, now, header.wakeupMs) -- guard: wake-up rule on retry
set('retried', digits(tonumber(retries or 0) + 1) .. ' ' .. header.seed .. ' ' .. wakeups)
redis.call('HSET', rootKey, unpack(changes))
writeEvents(eventsKey, { header.sessionId, event })
return { 'ok', wakeups }
