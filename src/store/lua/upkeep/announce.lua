--[[ announce – registers a node with its kinds, their pools and its slots.
Why a script   if the node died in between, sessions of a kind without a registered pool would go to a run queue that nobody looks at.
KEYS[1] kinds     hash               KEYS[2] pools    set                KEYS[3] nodes    hash
KEYS[4] leases    zset               KEYS[5] meta     hash
ARGV[1] header    json:
  node             id
  slots            of this node
  hosts            the kinds of this node
  pools            of each of these kinds
ARGV[2] facts     of this node, json, shown by doctor
ARGV[3] texts     then for each kind its description, json
Builds  T:seen; T:node-slots.
Returns {"ok"}. A node that cannot sweep, because the key of leases is damaged, is not registered: others would take it for live.
Events  none. ]]
local kindsKey, poolsKey, nodesKey, leasesKey, metaKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local header, facts = readHeader(ARGV[1]), ARGV[2]
local texts, cursor = ARGV, 3

checkTexts(header, 'node')
checkNumbers(header, 'slots')
checkLast(facts)
local hosts, pools = textsOf(header, 'hosts'), textsOf(header, 'pools')
if #pools ~= #hosts or #texts ~= cursor - 1 + #hosts then error('there should be one pool and one text for each kind', 0) end
local tag = tagOf(nodesKey)
checkSort('hash', kindsKey, nodesKey, metaKey, tag .. ':node-slots')
checkSort('set', poolsKey)
local canSweep = pcall(checkSort, 'zset', leasesKey)

-- The kinds and lines that the register does not have yet. Mostly it has all of them: nodes register their kinds each minute.
local function changedLines(kindsKey, hosts, lines)
  local changed = {}
  for from = 1, #hosts, 500 do
    local last = math.min(from + 499, #hosts)
    local stored = redis.call('HMGET', kindsKey, unpack(hosts, from, last))
    for index = from, last do
      if stored[index - from + 1] ~= lines[2 * index] then
        changed[#changed + 1] = hosts[index]
        changed[#changed + 1] = lines[2 * index]
      end
    end
  end
  return changed
end

local lines, names, seen = {}, {}, {}
for index = 1, #hosts do
  lines[2 * index - 1], lines[2 * index] = hosts[index], pools[index] .. ' ' .. texts[cursor + index - 1]
  if not seen[pools[index]] then names[#names + 1] = pools[index] end
  seen[pools[index]] = true
end
if #hosts > 0 then
  redis.call('SADD', poolsKey, unpack(names)) -- guard: a node announces its pools with its kinds
  local changed = changedLines(kindsKey, hosts, lines)
  for from = 1, #changed, 1000 do redis.call('HSET', kindsKey, unpack(changed, from, math.min(from + 999, #changed))) end
  local version = #changed > 0 and redis.pcall('HINCRBY', metaKey, 'kinds', 1) -- guard: nodes learn that a kind was registered
  -- Another program wrote over the version: the new one is above all earlier ones.
  if type(version) == 'table' then redis.call('HSET', metaKey, 'kinds', digits(nowMs())) end -- guard: a version of the register that is no number begins anew
end
if canSweep then
  writeNode(tag, header.node, nowMs(), header.slots, names, hosts, facts) -- guard: a node announces itself with its kinds
  redis.pcall('HSET', tag .. ':seen', header.node, digits(nowMs()))
end
return { 'ok' }
