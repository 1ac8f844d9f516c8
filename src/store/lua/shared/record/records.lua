--[[ records – names of keys, time, and what records and sessions say.
What scripts have in common is in lua/shared/, in rooms that build on each other: record, queue, mail, session, turn. The shared functions that a
script uses are put in front of it. A shared file runs nothing by itself.
A script that takes a list, or more than five values, takes a header as its first argument: one JSON object with named fields that the store wrote.
Texts of users follow it as arguments of their own, and no script decodes them (docs/decisions/0027-arguments-of-scripts.md).
A script reads and checks everything first and writes afterwards; `plan…`, `read…` and `check…` only read, `write…` only write.
A record holds only what differs from the start: no run means 1, no commit version 0, no pool "default", no name that of the kind and the call.
In headers: T: is the hash tag of the partition. "Builds" names the keys that are not passed. A key that is "declared" is passed and not
read: what is shared builds its name, if it is used at all. New wake-ups are named after the seed. A mail is one text: a letter for its
kind, ids, JSON, with tabs between (core/worker/message/message.ts). The length of a lane "for ever" counts all mails that were ever appended to it;
those that have gone are in the record's field of its name, so a mail keeps its position. ]]

local function tagOf(anyKey)
  return string.match(anyKey, '^{[^}]*}')
end

local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Numbers as whole digits, in texts and answers: the default conversion would write a time in milliseconds as 1.7e+12. Commands take
-- numbers as they are: Redis writes all of their digits.
-- Their texts are kept: those of small numbers, since most are small, and that of the last number, since a script writes its time many times.
local written, lastNumber, lastText = {}, 0, '0'
local function digits(number)
  local text = written[number]
  if text then return text end
  if number == lastNumber then return lastText end
  text = string.format('%d', number)
  if number >= 0 and number < 1000 and number % 1 == 0 then written[number] = text end
  lastNumber, lastText = number, text
  return text
end

local function workerKey(tag, id)
  return tag .. ':w:' .. id
end

local function sessionKey(tag, id)
  return tag .. ':s:' .. id
end

-- The id at the beginning of an element of a path ("<worker>:<run>"), of a timer ("<worker>:<name>"), or of what an event is about ("<session> <worker>").
local function idIn(text)
  return string.sub(text, 1, 36)
end

-- What stands behind that id.
local function behindId(text)
  return string.sub(text, 38)
end

-- The root's id is the session's with version 8 instead of 7, so neither needs to be stored with the other.
local function rootOf(session)
  return string.sub(session, 1, 14) .. '8' .. string.sub(session, 16)
end

-- By the path of a child, whose first element is the root; a worker without one is the root itself.
local function sessionOf(id, firstOfPath)
  local root = firstOfPath or id
  return string.sub(root, 1, 14) .. '7' .. string.sub(root, 16, 36)
end

-- Has its run begun on a node whose kind has `onCancel`? When it is cancelled, a node ends it, and calls `onCancel` first.
local function awaitsLastStep(record)
  return record.onCancel == (record.run or atStart.run)
end

-- How often the worker was claimed. It stands in the token while there is one ("<epoch>:<nonce>", "<epoch>:" after a lease that
-- ended), and in the id of the last commit.
local function epochOf(record)
  local claimed = tonumber(string.match(record.token or atStart.token, '^(%d+)') or '0')
  local committed = tonumber(string.match(record.commit or '', '^(%d+)') or '0')
  return math.max(claimed, committed), committed
end

-- Claims since the last commit.
local function startsOf(record)
  local epoch, committed = epochOf(record)
  return epoch - committed
end

-- The notes of an event about a worker whose starts recorded nothing. Last words have no character that JSON escapes; what somebody
-- wrote over them may have.
local function startsNote(event, starts, words)
  local said = words and words ~= '' and not string.find(words, '["\\%c]') and (',"lastWords":"' .. words .. '"') or '' -- guard: damaged last words break no event
  return '[["' .. event .. '",{"starts":' .. digits(starts) .. said .. '}]]'
end

local laneKeys = { signals = ':mail:signals', results = ':mail:results', inbox = ':mail:inbox' }

-- The key of large results of children, by the numbers of their calls. The lane has only the head of such a result; a head ends with a tab. So a claim may
-- read the whole lane, and of the large results only those that the parent takes next.
local largeBytes = 2048
local function largeKeyOf(recordKey)
  return recordKey .. ':mail:large'
end

-- The head of a large result, and the number of its call; nothing for any other text.
local function largeHead(text)
  if #text > largeBytes then return string.match(text, '^(r\t[^\t]*\t(%d+)\t%a+\t)') end
end

-- The number of the call in a head that stands in the lane of results; nothing for any other text.
local function callOfHead(text)
  return string.byte(text, -1) == 9 and tonumber(string.match(text, '^r\t[^\t]*\t(%d+)\t%a+\t$'))
end

-- The key of the workers of a paused session that claims found in a run queue, each with its score there.
local function heldKeyOf(tag, session)
  return sessionKey(tag, session) .. ':held'
end

-- The key of the turns of a paused session whose nodes begin nothing more in them, as "<worker> <token>".
local function quietKeyOf(tag, session)
  return sessionKey(tag, session) .. ':quiet'
end

-- The key of the workers that a cancel in the session has still to end. While its root says `endFrom`, all workers from that position of their list
-- on are looked at first, and those that cannot be ended yet come here.
local function endingKeyOf(tag, session)
  return sessionKey(tag, session) .. ':ending'
end

-- In a copied session: the key of the ids that its workers had in the original, each with the id in the copy.
local function originalsKeyOf(tag, session)
  return sessionKey(tag, session) .. ':originals'
end

-- A hash as a table, and as the flat list that Redis gives.
local function readHash(hashKey)
  local flat = redis.pcall('HGETALL', hashKey)
  if flat.err then
    checkSort('hash', hashKey)
    error(flat.err, 0)
  end
  local fields = {}
  for index = 1, #flat, 2 do fields[flat[index]] = flat[index + 1] end
  return fields, flat
end

-- An element of a child's path: the worker and its run. It becomes part of keys.
local function ancestorOf(recordKey, field, record)
  local worker, run = string.match(record[field] or '', '^(%x[%x-]+):([%d-]+)$')
  if not worker or #worker ~= 36 then throwDamage('field ' .. field .. ' of ' .. recordKey .. ' should name a worker and its run') end
  return worker, run
end

-- A worker's record. What it holds within other fields has a name of its own here: `commit` is "<token>:<sequence>" of the last commit and
-- `version` the number of them, as "<token>:<sequence>:<version>"; `parent` and `parentRun` are the last element of a child's path.
local function readRecord(recordKey)
  local record, flat = readHash(recordKey)
  local commit, depth = record.commit, record.depth
  if commit then
    record.commit, record.version = string.match(commit, '^(.*):(%d+)$')
    if not record.version then throwDamage('field commit of ' .. recordKey .. ' should end with the number of commits') end
  end
  if depth or record.path1 then
    if not string.find(depth or '', '^%d+$') then throwDamage('field depth of ' .. recordKey .. ' should be a whole number') end
    record.parent, record.parentRun = ancestorOf(recordKey, 'path' .. depth, record)
    -- The elements in between become no part of a key.
    if depth ~= '1' then ancestorOf(recordKey, 'path1', record) end
  end
  return record, flat
end

-- Some fields of a hash, false where it has none.
local function readFields(hashKey, ...)
  local fields = redis.pcall('HMGET', hashKey, ...)
  if fields.err then
    checkSort('hash', hashKey)
    error(fields.err, 0)
  end
  return fields
end

-- A session is its root: what is said of all of it stands in the root's record.
local function rootKeyOf(tag, session)
  return workerKey(tag, rootOf(session))
end

-- active, cancelling, completed, failed or cancelled, by two fields of its root: `cancel` is the reason, `ended` begins with the status.
local function stateOf(cancel, ended)
  return ended and string.match(ended, '^%a+') or cancel and 'cancelling' or 'active'
end

-- The state of a session; nil if there is none.
local function sessionState(tag, session)
  local field = readFields(rootKeyOf(tag, session), 'kind', 'cancel', 'ended')
  return field[1] and stateOf(field[2], field[3]) or nil
end

-- A record without limits has those that a session starts with by default.
local startLimits = '200 20 5 1000'
local function limitsOf(recordKey, limits)
  local workers, children, depth, mailbox = string.match(limits or startLimits, limitsForm)
  if not workers then throwDamage('field limits of ' .. recordKey .. ' should be one number for each limit') end
  return { workers = tonumber(workers), children = tonumber(children), depth = tonumber(depth), mailbox = tonumber(mailbox) }
end

-- What the root's record says of the session: its cancel count, what its agents have spent, what they may spend, that it is paused, what it
-- says of approvals, and its average turn, each false where it has none.
-- A root has them in its own record.
local function readShared(tag, id, record)
  if not record.parent then -- guard: the cancel count of a session is read from its root
    local cancelCount = record.cancelCount or false -- guard: a root has its cancel count in its own record
    return cancelCount, record.spent or false, record.caps or false, record.paused or false, record.approval or false, record.turnUs or false
  end
  return unpack(readFields(workerKey(tag, idIn(record.path1)), 'cancelCount', 'spent', 'caps', 'paused', 'approval', 'turnUs'))
end

-- Is the worker cancelled, through an ancestor or itself? Returns nil, 'own' (this run only: the worker goes
-- on with its mail) or 'whole' (for good); and what the root's record says of the session.
-- Its ancestors stand in path1 (the root), path2, ... as "<worker>:<run>", or "<worker>:-" where it was spawned as detached: one
-- field each, since a value over 64 bytes would make the whole record several times as large in memory.
-- A cancelled run takes along what it waits for: children in their first runs, and what these wait for. A child reports the end of its first run; the
-- later ones are begun by messages, and nobody waits for them.
-- The session counts what was cancelled in it: only then is the set read. So the root's record is known to be a hash when a later command writes to it.
local function readCancellation(tag, record, id)
  local cancelCount, spent, caps, paused, approval, turnUs = readShared(tag, id, record)
  if not cancelCount then return nil, cancelCount, spent, caps, paused, approval, turnUs end
  local probes, awaiting = {}, {}
  for level = 1, tonumber(record.depth or atStart.depth) do -- guard: the cancel check looks at all ancestors
    local element = record['path' .. level]
    if behindId(element) ~= '1' then awaiting = {} end -- guard: what a reported child spawned goes on when the run of its parent is cancelled
    awaiting[#awaiting + 1] = element
    probes[#probes + 1] = idIn(element) .. ':*' -- guard: a cancel for good reaches the whole path of a child
  end
  if (record.run or atStart.run) ~= '1' then awaiting = {} end -- guard: a child that has reported goes on when the run of its parent is cancelled
  for index = 1, #awaiting do probes[#probes + 1] = awaiting[index] end
  probes[#probes + 1] = id .. ':*'
  probes[#probes + 1] = id .. ':' .. (record.run or atStart.run)
  local cancelledKey = sessionKey(tag, sessionOf(id, record.path1)) .. ':cancelled'
  local found = redis.pcall('SMISMEMBER', cancelledKey, unpack(probes))
  if found.err then
    checkSort('set', cancelledKey)
    error(found.err, 0)
  end
  for index = 1, #probes - 1 do
    if found[index] == 1 then return 'whole', cancelCount, spent, caps, paused, approval, turnUs end
  end
  return found[#probes] == 1 and 'own' or nil, cancelCount, spent, caps, paused, approval, turnUs
end
