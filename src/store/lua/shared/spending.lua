--[[ spending – what the agents of a session have used, all of them together. ]]

-- Does a record keep an agent's tally, and no state of a handler?
local function isTally(data)
  return string.sub(data or '', 1, 2) == 'a '
end

-- By an agent's tally (core/history/agent-tally.ts): model calls of its life, and tokens in and out. Nil for what is none.
local function usedOf(tally)
  local calls, tokensIn, tokensOut = string.match(tally or '', '^a %w+ ?(%w*) ?(%w*) ?(%w*)')
  if not calls then return nil, 0 end
  -- Zeros at the end are not written.
  return tonumber(calls, 36) or 0, (tonumber(tokensIn, 36) or 0) + (tonumber(tokensOut, 36) or 0)
end

-- What the session has spent when this worker's tally becomes the given one, "<model calls> <tokens>"; nil where there is nothing to write.
-- Not for an agent that is alone in its session: it keeps the count in its own record, and with its first children it is written for all.
local function spentWith(rootKey, tally, record, spent)
  local calls, tokens = usedOf(tally)
  if not calls then return nil end
  if not (spent or record.parent) then return digits(calls) .. ' ' .. digits(tokens) end
  local callsBefore, tokensBefore = usedOf(record.data)
  local knownCalls = callsBefore or 0 -- guard: a commit adds only new spending
  local newCalls, newTokens = math.max(0, calls - knownCalls), math.max(0, tokens - tokensBefore)
  if newCalls == 0 and newTokens == 0 then return nil end
  local callsSpent, tokensSpent = string.match(spent or '0 0', '^(%d+) (%d+)$') -- guard: the spending of other agents stays
  if not callsSpent then throwDamage('field spent of ' .. rootKey .. ' should be two numbers') end
  return digits(tonumber(callsSpent) + newCalls) .. ' ' .. digits(tonumber(tokensSpent) + newTokens)
end
