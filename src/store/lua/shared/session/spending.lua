--[[ spending – what the agents of a session have used, all of them together. ]]

-- Does a record keep an agent's tally, and no state of a handler?
local function isTally(data)
  return string.sub(data or '', 1, 2) == 'a '
end

-- What an agent has used, by its tally (core/history/run/agent-tally.ts): model calls of its life, tokens in and out, and tool calls. Nil if the text
-- is no tally.
local function usedOf(tally)
  local calls, tokensIn, tokensOut, toolCalls = string.match(tally or '', '^a %w+ ?(%w*) ?(%w*) ?(%w*) ?(%w*)')
  if not calls then return nil, 0, 0 end
  -- Zeros at the end are not written.
  return tonumber(calls, 36) or 0, (tonumber(tokensIn, 36) or 0) + (tonumber(tokensOut, 36) or 0), tonumber(toolCalls, 36) or 0
end

-- What a session has spent or may spend: "<model calls> <tokens> <tool calls>", the last only if there were any. Nil for another text.
local function spendingOf(text)
  local calls, tokens, toolCalls = string.match(text, '^(%d+) (%d+) ?(%d*)$')
  return calls, tokens, toolCalls
end

local function spendingText(calls, tokens, toolCalls)
  return digits(calls) .. ' ' .. digits(tokens) .. (toolCalls > 0 and ' ' .. digits(toolCalls) or '')
end

-- What the session has spent when this worker's tally becomes the given one, as a text; nil where there is nothing to write.
-- An agent that is alone in its session keeps the count in its own record: nothing is written for it until it has children.
local function spentWith(rootKey, tally, record, spent)
  local calls, tokens, toolCalls = usedOf(tally)
  if not calls then return nil end
  if not (spent or record.parent) then return spendingText(calls, tokens, toolCalls) end
  local callsBefore, tokensBefore, toolCallsBefore = usedOf(record.data)
  local knownCalls = callsBefore or 0 -- guard: a commit adds only new spending
  local newCalls, newTokens = math.max(0, calls - knownCalls), math.max(0, tokens - tokensBefore)
  local newToolCalls = math.max(0, toolCalls - toolCallsBefore) -- guard: a commit adds only new tool calls
  if newCalls == 0 and newTokens == 0 and newToolCalls == 0 then return nil end
  local callsSpent, tokensSpent, toolCallsSpent = spendingOf(spent or '0 0') -- guard: the spending of other agents stays
  if not callsSpent then throwDamage('field spent of ' .. rootKey .. ' should be two numbers, or three') end
  return spendingText(tonumber(callsSpent) + newCalls, tonumber(tokensSpent) + newTokens, (tonumber(toolCallsSpent) or 0) + newToolCalls)
end

-- What the agents of a session may use together when these limits are set, and what they might before. start: the defaults, for a session without caps.
local function capsWith(rootKey, caps, start, new)
  local before = caps or start -- guard: a limit that is not set anew stays
  local calls, tokens, toolCalls = string.match(before, '^(%d+) (%d+) (%d+)$')
  if not calls then throwDamage('field caps of ' .. rootKey .. ' should be three numbers') end
  local function either(limit, old) return limit and digits(limit) or old end
  return either(new.modelCalls, calls) .. ' ' .. either(new.tokens, tokens) .. ' ' .. either(new.toolCalls, toolCalls), before
end
