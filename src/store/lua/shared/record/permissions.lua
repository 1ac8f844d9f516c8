--[[ permissions – what a worker may use, give to those it spawns, and send to. core/worker/permissions.ts has the same rules, and tests compare
them. ]]

-- Where a session keeps permissions that a record has no room for (over 64 bytes make the whole hash several times as large), by their digest:
-- those of siblings are mostly the same text.
local permissionBytesMost = 64
local function permissionsKeyOf(tag, session)
  return sessionKey(tag, session) .. ':permissions'
end

-- What a record holds for this text: the text itself, or `@` and its digest if it is long.
local function permissionsNamed(text)
  return #text <= permissionBytesMost and text or '@' .. redis.sha1hex(text)
end

-- The text of the permissions that a record names.
local function permissionsIn(tag, session, named)
  local digest = string.match(named, '^@(%x+)$')
  if not digest then return named end
  local key = permissionsKeyOf(tag, session)
  local text = readFields(key, digest)[1]
  if not text then throwDamage('key ' .. key .. ' should have the permissions ' .. digest) end -- guard: lost permissions permit nothing
  return text
end

-- A record as names and values in turn, with the text of its permissions.
local function withPermissions(tag, id, record, flat)
  if not record.permissions then return flat end
  local text = permissionsIn(tag, sessionOf(id, record.path1), record.permissions)
  for index = 1, text ~= record.permissions and #flat or 0, 2 do
    if flat[index] == 'permissions' then flat[index + 1] = text end -- guard: an assignment holds the permissions that its record names
  end
  return flat
end

-- Keeps these texts for records that name them; each is there once, however many name it.
local function writePermissions(tag, session, texts)
  for named, text in pairs(texts) do
    if named ~= text then redis.call('HSET', permissionsKeyOf(tag, session), string.sub(named, 2), text) end
  end
end

-- Permissions by the first word of their lines: the path of a folder, or a set of names. If a word comes twice, the last line counts.
local function permissionsOf(text)
  local permissions = {}
  for what, words in string.gmatch(text .. '\n', '(%S+) ?([^\n]*)\n') do
    permissions[what] = words
    if what ~= 'folder' then
      permissions[what] = {}
      for name in string.gmatch(words, '%S+') do permissions[what][name] = true end
    end
  end
  return permissions
end

-- A loop and no pattern, because a pattern would begin anew at each of many slashes.
local function withoutLastSlashes(path)
  local last = #path
  while last > 0 and string.byte(path, last) == 47 do last = last - 1 end
  return string.sub(path, 1, last)
end

-- Is this path the outer one or below it? This compares the texts alone: a step up below the outer path is refused.
local function isWithin(path, outer)
  if string.match(outer, '^%a:') then path, outer = string.gsub(path, '\\', '/'), string.gsub(outer, '\\', '/') end
  path, outer = path .. '/', withoutLastSlashes(outer) .. '/'
  return string.sub(path, 1, #outer) == outer and not string.find(path, '/../', #outer, true) -- guard: a child has no folder outside that of its parent
end

-- Permissions may say in one word to whom a worker may send: to nobody, to its parent and its children, or to workers of its session. nil: they list ids.
local reaches = { none = 1, family = 2, session = 3 }
local function reachIn(names)
  for word, reach in pairs(reaches) do
    if names[word] then return reach end
  end
end

local function isNarrowerReach(asked, own)
  local askedReach, ownReach = reachIn(asked), reachIn(own)
  if askedReach == 1 then return true end
  if ownReach then return askedReach ~= nil and askedReach <= ownReach end -- guard: a child sends no further than its parent
  for id in pairs(asked) do
    if not own[id] then return false end
  end
  return true
end

-- Do these permissions have every restriction of the worker, none of them wider?
local function isNarrower(asked, permissions)
  for what, own in pairs(permissions) do
    if not asked[what] then return false end
    if what == 'folder' then
      if not isWithin(asked.folder, own) then return false end
    elseif what == 'send' then
      if not isNarrowerReach(asked.send, own) then return false end
    else
      for name in pairs(asked[what]) do
        if not own[name] then return false end
      end
    end
  end
  return true
end

-- The permissions of the worker that sent this input, where they are restricted; core/worker/message/message.ts has the form. False for any other input.
local function permissionsInMail(text)
  return text and string.match(text, '^p\t[^\t]*\t([^\t]*)\t') or false
end

-- What restricts to whom this worker sends: its own permissions, and those of its run. Mostly there is nothing.
local function sendRulesOf(tag, own)
  local rules, record = {}, own.record
  for _, field in ipairs({ 'permissions', 'runPermissions' }) do
    local names = record[field] and permissionsOf(permissionsIn(tag, own.session, record[field])).send
    if names then rules[#rules + 1] = names end
  end
  return rules
end

-- Is the recipient with this record a child of the sending worker?
local function isChildOf(recordKey, own)
  local level = digits(own.depth + 1)
  local fields = redis.call('HMGET', recordKey, 'depth', 'path' .. level)
  return fields[1] == level and fields[2] and idIn(fields[2]) == own.id
end

local function isReached(own, names, send, session, recordKey)
  local reach = reachIn(names)
  if not reach then return names[send.worker] ~= nil end
  if reach == 1 then return false end
  if reach == 3 then return session == own.session end
  return send.worker == own.record.parent or not recordKey or isChildOf(recordKey, own)
end

-- May the worker send to this one? `recordKey`: of the recipient; nil for a child that this step spawns. A node says by `reach` how far an agent
-- without such permissions sends.
local function maySend(own, rules, send, session, recordKey)
  if send.worker == own.id then return true end
  if send.reach and not isReached(own, { [send.reach] = true }, send, session, recordKey) then return false end -- guard: an agent sends within its session
  for index = 1, #rules do
    if not isReached(own, rules[index], send, session, recordKey) then return false end -- guard: a worker sends no further than its permissions reach
  end
  return true
end
