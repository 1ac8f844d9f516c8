--[[ children – what a worker may give to those it spawns, and their records. ]]

-- A grant's restrictions by the first word of their lines: a folder's path, and of a list its names. Of a word that comes twice the last
-- one counts.
local function grantOf(text)
  local grant = {}
  for what, words in string.gmatch(text .. '\n', '(%S+) ?([^\n]*)\n') do
    grant[what] = words
    if what ~= 'folder' then
      grant[what] = {}
      for name in string.gmatch(words, '%S+') do grant[what][name] = true end
    end
  end
  return grant
end

-- Is this path the outer one or below it? By its text alone: a step up below the outer one is not.
local function isWithin(path, outer)
  if string.match(outer, '^%a:') then path, outer = string.gsub(path, '\\', '/'), string.gsub(outer, '\\', '/') end
  path, outer = path .. '/', string.gsub(outer, '/+$', '') .. '/'
  return string.sub(path, 1, #outer) == outer and not string.find(path, '/../', #outer, true)
end

-- Every restriction of the worker stands in the child's grant as well, and is no wider there.
local function mayGive(granted, spawn)
  local given = grantOf(spawn.grant)
  for what, own in pairs(granted) do
    if not given[what] then return false end
    if what == 'folder' then
      if not isWithin(given.folder, own) then return false end
    else
      for name in pairs(given[what]) do
        if not own[name] then return false end
      end
    end
  end
  return not granted.kinds or granted.kinds[spawn.kind] ~= nil
end

-- A child's record and its first mails. parent: id, record, session, run, depth.
local function writeChild(tag, spawn, parent)
  local detached = spawn.detached == '1'
  local childKey = workerKey(tag, spawn.id)
  local child = { 'schema', '2', 'session', parent.session, 'parent', parent.id, 'parentRun', detached and '-' or parent.run, 'call', spawn.call,
    'kind', spawn.kind, 'depth', digits(parent.depth + 1), 'state', 'queued' }
  local limits = parent.record.limits
  if limits then
    child[#child + 1] = 'limits'
    child[#child + 1] = limits
  end
  if spawn.name ~= spawn.kind then
    child[#child + 1] = 'name'
    child[#child + 1] = spawn.name
  end
  if spawn.grant ~= '' then
    child[#child + 1] = 'grant'
    child[#child + 1] = spawn.grant
  end
  if spawn.pool ~= 'default' then
    child[#child + 1] = 'pool'
    child[#child + 1] = spawn.pool
  end
  for level = 1, parent.depth + 1 do
    local element = parent.record['path' .. level] or (parent.id .. ':' .. parent.run)
    child[#child + 1] = 'path' .. level
    child[#child + 1] = detached and (string.sub(element, 1, 36) .. ':-') or element
  end
  redis.call('HSET', childKey, unpack(child))
  for from = 1, #spawn.mails, 1000 do
    redis.call('RPUSH', childKey .. laneKeys.user, unpack(spawn.mails, from, math.min(from + 999, #spawn.mails)))
  end
end
