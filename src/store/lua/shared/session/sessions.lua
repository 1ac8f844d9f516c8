--[[ sessions – new ones: their roots, first messages and places in the run queue; and T:ends, which has each session: one that has ended by the time
of its end, one that goes on by the time of its creation, and before all that have ended. So whoever looks for sessions that have ended reads none that goes on, and the other way round. ]]

local beforeEnds = 4e15
local function endsKeyOf(tag)
  return tag .. ':ends'
end

-- notify: where the result of the session goes. listens: endpoints are told of its end.
local function writeEndNotices(tag, session, now, notify, listens)
  if notify then writeNotice(tag, rootOf(session) .. ':notify', now) end -- guard: the result of a session that ends goes where its creator said
  if listens then writeNotice(tag, rootOf(session) .. ':notify:end', now) end -- guard: endpoints get the end of a session
end

local function writeEnd(tag, session, now, notify, listens)
  redis.call('ZADD', endsKeyOf(tag), digits(now), session)
  writeEndNotices(tag, session, now, notify, listens)
end

-- The score in T:ends of a session that goes on, by the time of its creation.
local function goesOnSince(createdAt)
  return digits(createdAt - beforeEnds)
end

-- The sessions that are asked for, as the header of create-sessions.lua says; their texts stand from `cursor` on.
local function readOrders(tag, header, texts, cursor)
  local orders = listOf(header, 'sessions')
  for index = 1, #orders do
    local order = orders[index]
    checkTexts(order, 'session', 'kind', 'pool')
    checkTextsIfAny(order, 'name', 'mode', 'limits', 'permissions', 'configured', 'caps', 'approval', 'turnShare', 'notify', 'branchOf', 'key')
    checkNumbersIfAny(order, 'entries', 'blobs', 'sent')
    if order.key then
      checkTexts(order, 'asked')
      checkNumbers(order, 'keyMs')
      if order.keyMs == 0 then error('the header should have a number keyMs above 0', 0) end
    end
    order.mail, order.event, order.wakeups = texts[cursor], texts[cursor + 1], ''
    order.recordKey = rootKeyOf(tag, order.session)
    order.inboxKey = order.recordKey .. laneKeys.inbox
    order.firstEntry, order.entries, order.sent = cursor + 2, order.entries or 0, order.sent or 0
    order.firstBlob, order.blobs = order.firstEntry + order.entries, order.blobs or 0
    cursor = order.firstBlob + 3 * order.blobs
  end
  if #texts ~= cursor - 1 then error('the texts should be two for each session, its entries and its blobs', 0) end
  return orders
end

-- How many partitions there are, if the caller knows another number; else false.
local function behindOf(tag, known)
  if known.behind == nil then
    local stored = known.partitions and redis.call('HGET', tag .. ':meta', 'partitions')
    known.behind = stored and tonumber(stored) ~= known.partitions and stored or false
  end
  return known.behind
end

-- The answer to an order whose session was created before, by its key or by its id, from a call that was sent before; or, as { first, word }, whose
-- session is also that of an order before it in this call. nil: the session is new. `known` collects sessions and keys of this call;
-- `some` of them have keys in Redis.
local function answerBefore(tag, order, known)
  if order.key then
    local session, asked, wakeups = readAnswer(tag .. ':idem:' .. order.key, '^(%x+%-%x+%-%x+%-%x+%-%x+) (%S+) ?(.*)$') -- guard: an answer of a key begins with the id of a session
    if session then return { asked == order.asked and 'again' or 'other', session, wakeups } end -- guard: idempotency key of a session | a key of a session that was used for something else is answered "other"
    local first = known.byKey[order.key]
    if first then return { first = first, word = first.asked == order.asked and 'again' or 'other' } end -- guard: a key that comes twice in one call is one session
    local behind = behindOf(tag, known)
    if behind then return { 'behind', behind, '' } end -- guard: a client that knows fewer partitions begins no session under a key
    known.byKey[order.key] = order
  end
  local first = known.bySession[order.session]
  if first then return { first = first, word = 'again' } end -- guard: a session that comes twice in one call is created once
  known.bySession[order.session] = order
  if not known.some then return nil end -- guard: sessions that go together are created once
  -- Another program may have written to the key of the new record.
  checkSort('hash', order.recordKey)
  checkSort('list', order.inboxKey, order.recordKey .. ':log') -- guard: a key of another type stops a script before it writes
  if redis.call('EXISTS', order.recordKey) == 0 then return nil end -- guard: a session is created once
  return { 'again', order.session, redis.call('HGET', order.recordKey, 'startWakeups') or '' }
end

-- The key under which the bytes of a blob were sent before.
local function sentKeyOf(tag, session, blob)
  return sessionKey(tag, session) .. ':blob:' .. blob .. ':sent'
end

-- Is a blob that the first message names missing, or only partly there? Three texts stand for each: its id, its media type, and how many bytes it has.
local function lacksBlob(tag, order, texts)
  for from = order.firstBlob, order.firstBlob + 3 * (order.blobs - 1), 3 do
    if digits(redis.call('STRLEN', sentKeyOf(tag, order.session, texts[from]))) ~= texts[from + 2] then return true end
  end
  return false
end

-- The same as answerBefore. Also refuses a session whose blobs or history are not there.
local function answerNow(tag, order, known, texts)
  local answer = answerBefore(tag, order, known)
  local lacksEntries = not answer and order.sent > 0 and lengthOf(order.recordKey .. ':log') ~= order.sent -- guard: a session begins with all of its history
  if answer or not (lacksEntries or lacksBlob(tag, order, texts)) then return answer end -- guard: a session begins with all of its blobs
  known.bySession[order.session] = nil
  if order.key then known.byKey[order.key] = nil end
  return { 'unsent', order.session, '' }
end

local function writeRoot(tag, order, now)
  local record = { 'schema', '8', 'kind', order.kind, 'status', order.rests and 'idle' or 'queued' } -- guard: a session without a first message rests
  local function set(field, value, absent)
    if value ~= absent then
      record[#record + 1] = field
      record[#record + 1] = value
    end
  end
  if not order.rests then set('queuedAt', digits(now)) end
  set('limits', order.limits)
  set('name', order.name)
  set('pool', order.pool, atStart.pool)
  set('mode', order.mode)
  if order.permissions then
    local named = permissionsNamed(order.permissions)
    writePermissions(tag, order.session, { [named] = order.permissions }) -- guard: the permissions that a root names are kept
    set('permissions', named)
  end
  set('configured', order.configured)
  set('caps', order.caps)
  set('approval', order.approval)
  set('turnShare', order.turnShare)
  set('notify', order.notify)
  set('branchOf', order.branchOf)
  -- The history with which a worker begins counts as a commit of no claim: the node that claims the worker reads that history.
  if order.entries + order.sent > 0 then set('commit', '0::0:1') end -- guard: a worker that begins with a history knows of it
  set('startWakeups', order.wakeups, '') -- guard: the first session of each pool keeps its wake-ups
  redis.call('HSET', order.recordKey, unpack(record))
end

-- The blobs that the first message names, whose bytes are there, become those of the session. Whoever asks for the session bounds them.
local function writeFirstBlobs(tag, order, texts)
  if order.blobs == 0 then return end
  local base, held, lines = sessionKey(tag, order.session), 0, {}
  for from = order.firstBlob, order.firstBlob + 3 * (order.blobs - 1), 3 do
    local blob, bytes = texts[from], texts[from + 2]
    local blobKey = base .. ':blob:' .. blob
    redis.call('RENAME', sentKeyOf(tag, order.session, blob), blobKey)
    redis.call('PERSIST', blobKey) -- guard: the first blobs of a session stay
    lines[#lines + 1], lines[#lines + 2] = blob, bytes .. ' ' .. texts[from + 1]
    held = held + tonumber(bytes)
  end
  redis.call('HSET', base .. ':blobs', 'bytes', digits(held), unpack(lines))
end

-- Writes the sessions, which are in the index already. The first of each pool gets the new wake-ups of that pool, and its record keeps them.
local function writeSessions(tag, orders, now, seed, wakeupMs, texts)
  local queued, events = {}, {}
  for index = 1, #orders do
    local order = orders[index]
    local pool = order.pool
    local lastEntry = order.firstEntry + order.entries - 1
    for from = order.firstEntry, lastEntry, 1000 do redis.call('RPUSH', order.recordKey .. ':log', unpack(texts, from, math.min(from + 999, lastEntry))) end
    if order.sent > 0 then redis.call('PERSIST', order.recordKey .. ':log') end -- guard: the history of a session stays
    writeFirstBlobs(tag, order, texts)
    if not order.rests then
      redis.call('RPUSH', order.inboxKey, order.mail)
      local waiting = queued[pool] or {}
      queued[pool], waiting[#waiting + 1] = waiting, order
    end
    events[2 * index - 1], events[2 * index] = order.session, order.event
  end
  for pool, waiting in pairs(queued) do
    local first, placed = nextPlaces(tag, pool, #waiting), {}
    for index = 1, #waiting do
      local _, lead = turnShareOf(waiting[index].turnShare)
      placed[2 * index - 1], placed[2 * index] = inFront(first + index - 1, lead), rootOf(waiting[index].session)
    end
    enterRunQueue(tag, pool, placed)
  end
  for pool, waiting in pairs(queued) do waiting[1].wakeups = writeWakeupsOf(tag, { [pool] = true }, seed, now, wakeupMs) end
  for index = 1, #orders do
    local order = orders[index]
    writeRoot(tag, order, now)
    if order.key then redis.call('SET', tag .. ':idem:' .. order.key, order.session .. ' ' .. order.asked .. ' ' .. order.wakeups, 'PX', digits(order.keyMs)) end
  end
  writeEvents(tag .. ':events', events)
end
