--[[ children – what a worker may give to those it spawns, and their records. ]]

-- May the worker give the child its permissions? Those of siblings are mostly the same text: `judged` holds the answer for each text.
local function mayGive(permissions, spawn, judged)
  local text = spawn.permissions or ''
  if judged[text] == nil then judged[text] = isNarrower(permissionsOf(text), permissions) end
  if not judged[text] then return false end
  return not permissions.kinds or permissions.kinds[spawn.kind] ~= nil -- guard: a worker spawns only kinds that its permissions name
end

-- What the worker may not use itself it may not give (I13): neither by its own permissions, nor by those of its run.
local function refuseWider(tag, own, born, refused)
  local record = own.record
  for _, field in ipairs({ 'permissions', 'runPermissions' }) do -- guard: a run gives no child more than the sender of its message may use
    local permissions, judged = record[field] and permissionsOf(permissionsIn(tag, own.session, record[field])), {}
    for index = 1, permissions and #born or 0 do
      if not mayGive(permissions, born[index], judged) then refused[#refused + 1] = { 'permission_exceeded', '0', born[index].id } end -- guard: permissions of a child (permission_check_off)
    end
  end
end

-- The permissions of children as their records have them. `named`: by each text, its name in the record; `permissions`: by that name, the text.
local function nameAll(tag, own, others)
  others.named, others.permissions = {}, {}
  for index = 1, #others.born do
    local text = others.born[index].permissions
    if text and not others.named[text] then
      local named = permissionsNamed(text)
      others.named[text], others.permissions[named] = named, text
      if named ~= text then checkSort('hash', permissionsKeyOf(tag, own.session)) end -- guard: a commit is whole even if permissions of children cannot be kept
    end
  end
end

-- What the root's record says that a worker which spawns must know.
local function readOfRoot(rootKey)
  local field = readFields(rootKey, 'workers', 'score', 'turnUs', 'turnShare')
  return { workers = field[1] or nil, score = field[2] or nil, turnUs = field[3] or nil, turnShare = field[4] or nil }
end

-- Plans the children that a step spawns. `others.born` gets those that are not there yet, and `others.root` what their root's record says of its
-- workers and its places. What limits or permissions do not allow is added to `refused`. Children that wait to start are not within the limit of the
-- session, but a claim of their parent reads the results of all of them: so they have a limit, too.
local awaitedMost = 1000
local function planChildren(tag, own, spawns, others, refused, most)
  local record, known, born = own.record, 0, {}
  others.born, others.common = born, {}
  for from = 1, #spawns, 1000 do
    local keys, at = {}, 0
    for index = from, math.min(from + 999, #spawns) do
      local spawn = spawns[index]
      spawn.key = workerKey(tag, spawn.id)
      keys[at + 1], keys[at + 2] = spawn.key, spawn.key .. laneKeys.inbox
      at = at + 2
    end
    known = known + redis.call('EXISTS', unpack(keys))
  end
  for index = 1, #spawns do
    local spawn = spawns[index]
    -- A child that exists already was spawned by the same call before: this looks for it one by one only when there is one.
    if known == 0 or redis.call('EXISTS', spawn.key) == 0 then -- guard: a child is created once
      born[#born + 1] = spawn
    end
  end
  if #born == 0 then return end
  refuseWider(tag, own, born, refused)
  nameAll(tag, own, others)
  local limits = limitsOf(own.recordKey, record.limits)
  others.root = record
  if record.parent then others.root = readOfRoot(own.rootKey) end
  checkCount(own.rootKey, 'workers', others.root.workers)
  if most or record.atOnce then planAtOnce(tag, own, born, most, limits) end
  if own.depth + 1 > limits.depth then -- guard: no child is deeper than the limit
    refused[#refused + 1] = { 'depth_exceeded', digits(limits.depth), born[1].id }
  elseif not own.atOnce and own.pendingCount > limits.children then -- guard: a parent awaits no more children than its limit | children that wait to start are within the limit of children
    refused[#refused + 1] = { 'children_exceeded', digits(limits.children), born[1].id }
  elseif own.pendingCount > awaitedMost then -- guard: a parent awaits no more results than a claim may read
    refused[#refused + 1] = { 'children_exceeded', digits(awaitedMost), born[1].id }
  elseif tonumber(others.root.workers or atStart.workers) + #born > limits.workers then -- guard: a session has no more workers than its limit
    refused[#refused + 1] = { 'workers_exceeded', digits(limits.workers), born[1].id }
  end
  for index = 1, known > 0 and #born or 0 do checkSort('list', born[index].key .. laneKeys.inbox) end
  checkSort('list', sessionKey(tag, own.session) .. ':workers')
  if own.inline then checkSort('zset', tag .. ':leases') end -- guard: no child runs without a lease
end

local noneBorn = {}

-- What a step would write of other workers and for all of its session: its children, in `mails` its mail, and in `spent` what the session has
-- spent then. Reads and checks all of it. Returns as well what is refused, or nil. A worker that has neither parent nor children needs none of this.
local function planOthers(tag, own, commit, awaitsResults)
  local record, refused = own.record, nil
  local others = { born = noneBorn, mails = noneBorn, out = noneBorn, root = false, spent = false }
  local reports = commit.outcome and commit.result and record.parent and own.run == '1' and record.parentRun ~= '-'
  if #commit.spawns > 0 or #commit.sends > 0 then
    refused = {}
    planChildren(tag, own, commit.spawns, others, refused, commit.atOnce)
    others.mails, others.out = planMails(tag, own, commit.sends, others.born, refused)
  end
  local report = reports and planReport(tag, record, commit.result)
  if report then
    if #others.mails == 0 then others.mails = { report } else table.insert(others.mails, report) end
  end
  -- A root that has become an agent may have had children before: their calls are counted.
  local isAlone = not (own.spent or record.parent or record.calls or #others.born > 0) -- guard: the spending of a lone agent counts for its session once it has children | the spending of a root counts for its session when it becomes an agent after it had children
  others.spent = commit.state and not isAlone and spentWith(own.rootKey, commit.state, record, own.spent)
  if #commit.resultsConsumed > 0 or own.pendingCount > 0 or awaitsResults then checkResults(workerKey(tag, own.id), record, commit.resultsConsumed) end
  if commit.outcome and own.pendingCount > 0 then
    checkSort('set', sessionKey(tag, own.session) .. ':cancelled', tag .. ':cancelling', endingKeyOf(tag, own.session))
    checkCount(own.rootKey, 'cancelCount', own.cancelCount)
  end
  return others, refused and #refused > 0 and refused or nil
end

-- The fields that the records of children share. They differ for detached children, and for children that run, wait to start, or do neither: each
-- form is kept in `others.common`. parent: id, record, session, run, depth.
local function commonFields(parent, others, isDetached, token, waits, queuedAt)
  local which = (isDetached and 1 or 0) + (token and 2 or 0) + (waits and 4 or 0)
  local common = others.common[which]
  if common then return common end
  local limits = parent.record.limits
  common = { 'schema', '8', 'depth', digits(parent.depth + 1), 'status', token and 'running' or waits and 'parked' or 'queued' }
  local function set(field, value)
    common[#common + 1] = field
    common[#common + 1] = value
  end
  if token then set('token', token) end
  if waits then set('wait', 'start') end
  if queuedAt then set('queuedAt', digits(queuedAt)) end
  if limits then set('limits', limits) end
  if parent.record.copied then set('copied', parent.record.copied) end -- guard: a child spawned in a copy belongs to the copy
  for level = 1, parent.depth + 1 do
    local element = parent.record['path' .. level] or (parent.id .. ':' .. parent.run)
    set('path' .. level, isDetached and (idIn(element) .. ':-') or element)
  end
  others.common[which] = common
  return common
end

-- The record of a child. Most siblings differ in nothing but their call, so a record is a copy of one that was written before: that takes a third of the
-- time. `common.like` says which, and what that one has beside the common fields. A record that has fewer of these is written in full, and copied from
-- then on.
local function writeRecord(spawn, common, named)
  local key, kind, name, permissions, pool = spawn.key, spawn.kind, spawn.name, spawn.permissions and named[spawn.permissions], spawn.pool
  local like = common.like
  if like and like.kind == kind and like.pool == pool and like.permissions == permissions and not (name or like.name) then -- guard: a child says in what it differs from its sibling
    redis.call('COPY', like.key, key)
    redis.call('HSET', key, 'call', spawn.call)
    return
  end
  local fields, size = { 'call', spawn.call, 'kind', kind, nil, nil, nil, nil, nil, nil }, 4
  if name then fields[size + 1], fields[size + 2], size = 'name', name, size + 2 end
  if permissions then fields[size + 1], fields[size + 2], size = 'permissions', permissions, size + 2 end
  if pool ~= atStart.pool then fields[size + 1], fields[size + 2], size = 'pool', pool, size + 2 end
  if like and (name or not like.name) and (permissions or not like.permissions) and (pool ~= atStart.pool or like.pool == atStart.pool) then -- guard: no child has a field that only its sibling has
    redis.call('COPY', like.key, key)
  else
    redis.call('HSET', key, unpack(common))
    common.like = { key = key, kind = kind, name = name, permissions = permissions, pool = pool }
  end
  redis.call('HSET', key, unpack(fields, 1, size))
end

-- A child's record and its first mails.
local function writeChild(spawn, common, named)
  writeRecord(spawn, common, named)
  local inboxKey, more = spawn.key .. laneKeys.inbox, spawn.more
  redis.call('RPUSH', inboxKey, spawn.mail)
  for from = 1, more and #more or 0, 1000 do redis.call('RPUSH', inboxKey, unpack(more, from, math.min(from + 999, #more))) end
end

-- Does a slot of the parent's node take this child at once, without the run queue? Not a child with more mail than its input, because an
-- assignment has bounds.
local function isInline(inline, spawn)
  return inline and spawn.offered and not spawn.more and not spawn.waits -- guard: a child with more mail than its input enters the run queue | no slot takes a child that waits to start
end

-- Writes the children. Returns the ids of those that the slot takes at once, or false.
local function writeChildren(tag, own, others, now, woke)
  local inline, assigned, leases = own.inline, {}, {}
  local token, ends = inline and '1:' .. inline.nonce, inline and digits(now + inline.node.leaseMs)
  writePermissions(tag, own.session, others.permissions) -- guard: the permissions that children name are kept
  for index = 1, #others.born do
    local spawn = others.born[index]
    if isInline(inline, spawn) then
      writeChild(spawn, commonFields(own, others, spawn.detached, token), others.named)
      assigned[#assigned + 1] = spawn.id
      leases[#leases + 1] = ends
      leases[#leases + 1] = spawn.id
    elseif spawn.waits then
      writeChild(spawn, commonFields(own, others, false, nil, true), others.named)
    else
      writeChild(spawn, commonFields(own, others, spawn.detached, nil, false, now), others.named)
      spawn.session, spawn.root = own.session, (spawn.pool == atStart.pool or not own.record.parent) and others.root
      writeWoken(tag, spawn, woke)
    end
  end
  if #assigned == 0 then return false end
  redis.call('ZADD', tag .. ':leases', unpack(leases)) -- guard: a child of a slot has a lease
  redis.pcall('HSET', tag .. ':claims:' .. inline.node.id, inline.slot, inline.nonce)
  return assigned
end

-- Of the children that the slot took when this step was recorded, those that it still holds.
local function readInline(tag, commit)
  local assigned = {}
  for index = 1, #commit.spawns do
    local spawn = commit.spawns[index]
    if isInline(commit.inline, spawn) and redis.pcall('HGET', workerKey(tag, spawn.id), 'token') == '1:' .. commit.inline.nonce then -- guard: a commit that is sent again answers the children that the slot still holds
      assigned[#assigned + 1] = spawn.id
    end
  end
  return assigned
end

-- Writes children and mail as planned; `ofRoot` gets what the root's record is to say of them. Returns how many mails the worker sent to itself,
-- and the ids of the children that slots took, or false.
local function writeOthers(tag, own, others, ofRoot, now, woke)
  local ids, toItself = {}, 0
  local assigned = #others.born > 0 and writeChildren(tag, own, others, now, woke)
  for index = 1, #others.born do ids[index] = others.born[index].id end
  for from = 1, #ids, 1000 do
    redis.call('RPUSH', sessionKey(tag, own.session) .. ':workers', unpack(ids, from, math.min(from + 999, #ids)))
  end
  if #ids > 0 then
    ofRoot[#ofRoot + 1] = 'workers'
    ofRoot[#ofRoot + 1] = digits(tonumber(others.root.workers or atStart.workers) + #ids)
  end
  for index = 1, #others.mails do
    writeMail(tag, others.mails[index], now, woke)
    if others.mails[index].id == own.id then toItself = toItself + 1 end
  end
  for index = 1, #others.out do writeOut(tag, others.out[index], now) end
  return toItself, assigned
end
