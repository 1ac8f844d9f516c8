--[[ events – what a script reports: one entry of the partition's stream, and a message for those who follow one of its sessions now. ]]

-- SPUBLISH where the server has it: in a cluster the message then goes to the nodes of its slot alone.
local publishCommand = redis.REDIS_VERSION_NUM and 'SPUBLISH' or 'PUBLISH'

-- `events`: subjects and notes in turn. They may be missed (docs/protocol.md), so nothing here fails. The message of a session is the id of the
-- entry, and for each commit of it three lines: its number within the entry, the worker if that is not the root, and the notes.
local function writeEvents(eventsKey, events)
  local id = redis.pcall('XADD', eventsKey, '*', unpack(events))
  if type(id) ~= 'string' then return end
  local messages = {}
  for index = 1, #events, 2 do
    local subject = events[index]
    local session = string.sub(subject, 1, 36)
    messages[session] = (messages[session] or id) .. '\n' .. digits((index - 1) / 2) .. '\n' .. string.sub(subject, 38) .. '\n' .. events[index + 1]
  end
  for session, message in pairs(messages) do redis.pcall(publishCommand, eventsKey .. ':' .. session, message) end
end
