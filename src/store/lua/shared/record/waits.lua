--[[ waits – the half of the grammar of waits that scripts need; core/worker/wait.ts has all of it, and a test compares the two.
A wait is any | signals | retry | start | gate | result:<child> | results:<count>. ]]

-- How many results must ever have come to end this wait; nil for a wait that counts none. A number that cannot be read counts as 0, so that any result
-- ends the wait: it must not stop whoever brings mail, and the claim checks the whole record.
local function countAwaited(wait)
  return string.sub(wait, 1, 8) == 'results:' and (tonumber(string.sub(wait, 9)) or 0) or nil -- guard: a commit is whole even if a wait is damaged
end

-- The child whose result the worker waits for; nil for another wait.
local function childAwaited(wait)
  return string.match(wait, '^result:(.*)$')
end

local function waitsForResults(wait)
  return countAwaited(wait) ~= nil or childAwaited(wait) ~= nil
end

-- The waits that no mail ends: a script does, when its time has come.
local scriptWaits = { retry = true, start = true, gate = true }

-- Does the wait keep a run from its beginning?
local function waitsToBegin(wait)
  return wait == 'start' or wait == 'gate'
end

-- Does this mail end the wait? `count`: how many mails of its lane have ever come, this one included.
local function endsWait(wait, lane, text, count)
  if scriptWaits[wait] then return false end -- guard: a retry waits
  if lane == 'signals' or wait == 'any' then return true end
  if lane ~= 'results' then return false end
  local child, most = childAwaited(wait), countAwaited(wait)
  if child then return string.sub(text, 3, 38) == child end
  return most ~= nil and count >= most
end

-- Does this mail wake a worker of this status?
local function wakes(status, wait, lane, text, count)
  return status == 'idle' or (status == 'parked' and endsWait(wait, lane, text, count))
end
