--[[ amend – adds one entry to the history of an idle worker, for somebody outside: its next prompts change with it.
Why a script   the entry is valid only for the history that its caller read, and a turn that began since may have added to it.
KEYS[1] record    hash               KEYS[2] log      list               KEYS[3] events   stream
ARGV[1] header    json:
  worker           id
  version          of the record that the caller read, as text
  position         that the entry gets: the length of the history that the caller read
  key              digest of an idempotency key of the caller; absent: none
  keyMs            with a key: how long it is known
ARGV[2] event     json               ARGV[3] entry    json
Returns {"ok"}: the entry was added, by this call or an earlier try of it
        | {"again", position}: its key is known | {"not_found"} | {"terminal"} | {"session_finished", state}
        | {"busy"}: a run of it is open, or a turn | {"moved"}: the record is not as the caller read it
Builds  T:w:<root>, T:idem.
Events  context.changed, in the words of the client. Writes nothing unless it returns "ok". ]]
local recordKey, logKey, eventsKey = KEYS[1], KEYS[2], KEYS[3]
local header, event, entry = readHeader(ARGV[1]), ARGV[2], ARGV[3]

checkTexts(header, 'worker', 'version')
checkNumbers(header, 'position')
checkTextsIfAny(header, 'key')
if header.key then checkNumbers(header, 'keyMs') end
checkLast(entry)
local tag = tagOf(recordKey)
local idemKey = header.key and tag .. ':idem:' .. header.key
local known = idemKey and readAnswer(idemKey, '^(%d+)$')
if known then return { 'again', known } end -- guard: idempotency key of an amendment
local record = readRecord(recordKey)
if not record.kind then return { 'not_found' } end
checkRecord(recordKey, record)
checkSort('list', logKey)
if redis.call('LINDEX', logKey, digits(header.position)) == entry then return { 'ok' } end -- guard: an amendment that is sent again counts once
if record.status == 'terminal' then return { 'terminal' } end -- guard: a worker that was cancelled for good is not amended
local session = sessionOf(header.worker, record.path1)
local state = sessionState(tag, session)
if state ~= 'active' then return { 'session_finished', state or 'pruned' } end -- guard: nothing is amended in a session that is over
if record.status ~= 'idle' or record.open == '1' then return { 'busy' } end -- guard: only a worker that rests is amended
if (record.version or '0') ~= header.version or lengthOf(logKey) ~= header.position then return { 'moved' } end -- guard: an amendment holds for the history that its caller read

-- The first write, so it may fail.
redis.call('RPUSH', logKey, entry)
-- It counts as a commit that no turn made: a node that keeps the history in memory reads it again.
redis.call('HSET', recordKey, 'commit', (record.commit or '0::0') .. ':' .. digits(tonumber(record.version or 0) + 1)) -- guard: an amendment is a new version of the record
if idemKey then redis.call('SET', idemKey, digits(header.position), 'PX', digits(header.keyMs)) end
writeEvents(eventsKey, { header.worker == rootOf(session) and session or (session .. ' ' .. header.worker), event })
return { 'ok' }
