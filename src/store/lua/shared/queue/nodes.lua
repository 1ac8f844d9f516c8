--[[ nodes – the register of nodes. T:nodes has a line for each: "<written at> <slots> <pool,pool> <kind,kind> <facts>". A node may have a thousand kinds,
and there may be hundreds of nodes, so T:node-slots has what every sweep needs: "<slots> <pool,pool> <digest of the kinds>". A node of an older troupe
writes only its line. When a node was last seen stands by itself, in T:seen. ]]

-- Registers a node, or says that it is there with other slots, pools, kinds or facts. A line may be long, so it is written when it changes. Returns whether it was known.
local function writeNode(tag, node, now, slots, pools, kinds, facts)
  local nodesKey, slotsKey = tag .. ':nodes', tag .. ':node-slots'
  local head, hosted = digits(slots) .. ' ' .. table.concat(pools, ','), table.concat(kinds, ',')
  local line, known = ' ' .. head .. ' ' .. hosted .. ' ' .. facts, redis.call('HGET', nodesKey, node)
  local isSame = known and string.match(known, '^%d*(.*)$') == line
  if not isSame then redis.call('HSET', nodesKey, node, digits(now) .. line) end
  if not isSame or redis.call('HEXISTS', slotsKey, node) == 0 then redis.call('HSET', slotsKey, node, head .. ' ' .. redis.sha1hex(hosted)) end -- guard: a node says its slots anew when they change
  return known and true or false
end

local function removeNode(tag, node)
  redis.call('HDEL', tag .. ':nodes', node)
  redis.pcall('HDEL', tag .. ':node-slots', node)
  redis.pcall('HDEL', tag .. ':seen', node)
  redis.call('UNLINK', tag .. ':claims:' .. node)
end

local function lineOf(tag, node)
  return redis.call('HGET', tag .. ':nodes', node) or ''
end

-- All nodes: for each its id, its slots, its pools with commas between them, the digest of its kinds if it has said that, and when it was last seen. If another
-- program wrote over that, when its line was written. Of one whose line nobody can read there are no slots, and it was seen long ago.
local function readNodes(tag)
  local nodes, ids = {}, redis.call('HKEYS', tag .. ':nodes')
  local heads, seenAt, isKnown = readHash(tag .. ':node-slots'), readHash(tag .. ':seen'), {}
  for index = 1, #ids do
    local id = ids[index]
    local slots, pools, digest = string.match(heads[id] or '', '^(%d+) (%S*) (%x+)$')
    local seen = seenAt[id]
    if not slots or not seen then
      local written, count, where = string.match(lineOf(tag, id), '^(%d+) (%d+) (%S*)')
      slots, pools, seen = slots or count, pools or where, seen or written -- guard: a node that says only its line counts like the others
    end
    nodes[index], isKnown[id] = { id = id, slots = tonumber(slots or 0), pools = pools or '', digest = digest, seen = slots and tonumber(seen) or 0 }, true
  end
  -- A node of an older troupe forgets other nodes without this.
  for id in pairs(heads) do
    if not isKnown[id] then redis.call('HDEL', tag .. ':node-slots', id) end -- guard: the slots of a node that is forgotten go with it
  end
  return nodes
end

-- The kinds that these nodes host, each with true. Nearly all nodes of a pool have the same, and one of them is read.
local function kindsOfNodes(tag, nodes)
  local hosted, wasRead = {}, {}
  for index = 1, #nodes do
    local node = nodes[index]
    local digest = node.digest or node.id
    local kinds = not wasRead[digest] and string.match(lineOf(tag, node.id), '^%d+ %d+ %S* (%S*)') -- guard: of nodes with the same kinds one is read
    if kinds then wasRead[digest] = true end -- guard: a node whose line cannot be read hides no kinds of others
    if kinds and not wasRead[kinds] then
      wasRead[kinds] = true
      for kind in string.gmatch(kinds, '[^,]+') do hosted[kind] = true end
    end
  end
  return hosted
end
