--[[ events – what a script reports: one entry of the partition's stream, a message for those who follow one of its sessions now, and one for those who
wait for an end in it. ]]

-- SPUBLISH where the server has it: in a cluster the message then goes to the nodes of its slot alone.
local publishCommand = redis.REDIS_VERSION_NUM and 'SPUBLISH' or 'PUBLISH'

-- May these notes tell that a run of a root has ended, or that a failed one goes on? It need not be so: who waits looks again.
local function mayTellEnd(notes)
  return string.find(notes, '.completed"', 1, true) or string.find(notes, '.failed"', 1, true) or string.find(notes, '.cancelled"', 1, true) or
    string.find(notes, '.retried"', 1, true)
end

-- A worker of a session, as events name it: the root by its session alone.
local function subjectOf(session, worker)
  return worker == rootOf(session) and session or (session .. ' ' .. worker) -- guard: who waits for a run that a sweep ends is told of its end
end

-- `events`: a subject, its notes, the next subject, its notes, and so on. They may be missed (docs/protocol.md), so nothing here fails. The message of a session is the id of the
-- entry, and for each commit of it three lines: its number within the entry, the worker if that is not the root, and the notes. Ends have channels of
-- their own, so that a process which waits for a result is told once, however many steps its session makes: one of the session, and one of the client
-- that created it (ID-4), which so needs no subscription for each of its jobs. Their second line is the session.
local function writeEvents(eventsKey, events)
  local id = redis.pcall('XADD', eventsKey, '*', unpack(events))
  if type(id) ~= 'string' then return end
  local messages, ends, created = {}, {}, {}
  for index = 1, #events, 2 do
    local subject, notes = events[index], events[index + 1]
    local session = idIn(subject)
    local number = '\n' .. digits((index - 1) / 2) .. '\n'
    messages[session] = (messages[session] or id) .. number .. behindId(subject) .. '\n' .. notes
    local lines = subject == session and mayTellEnd(notes) and number .. session .. '\n' .. notes
    local creator = lines and string.sub(session, 27, 33)
    if lines then ends[session] = (ends[session] or id) .. lines end -- guard: who waits for an end is told of it
    if lines then created[creator] = (created[creator] or id) .. lines end -- guard: a client is told of the ends of its jobs
  end
  for session, message in pairs(messages) do redis.pcall(publishCommand, eventsKey .. ':' .. session, message) end
  for session, message in pairs(ends) do redis.pcall(publishCommand, eventsKey .. ':' .. session .. ':ends', message) end
  for creator, message in pairs(created) do redis.pcall(publishCommand, eventsKey .. ':' .. creator .. ':created', message) end
end

-- Cuts the stream at its older end, to about so many entries and bytes. `last`: when this was done before. Returns whether anything was cut: before 7.0 a
-- stream cannot say itself that it lost entries.
local function trimEvents(eventsKey, kept, bytesMost, last, now)
  local trimmed, looksEveryMs = redis.call('XTRIM', eventsKey, 'MAXLEN', '~', digits(kept)), 5000
  -- To measure the stream takes a millisecond, so it is measured only now and then.
  local bytes = math.floor(now / looksEveryMs) ~= math.floor(last / looksEveryMs) and redis.pcall('MEMORY', 'USAGE', eventsKey, 'SAMPLES', '0')
  if type(bytes) == 'number' and bytes > bytesMost then
    local fit = math.floor(redis.call('XLEN', eventsKey) * bytesMost / bytes)
    trimmed = trimmed + redis.call('XTRIM', eventsKey, 'MAXLEN', '~', digits(fit)) -- guard: events are bounded by bytes
  end
  return trimmed > 0
end
