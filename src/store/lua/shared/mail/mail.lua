--[[ mail – mail into lanes, and the workers that it wakes into the run queue. ]]

-- A mail for the lane of signals. Each sort has a letter of its own; core/worker/message/message.ts has the same ones.
local signalLetters = { timer = 't', answer = 'o' }
local function signalMail(sort, id, value)
  return signalLetters[sort] .. '\t' .. id .. '\t' .. value
end

-- Reads what must be known of a recipient before mail is written to it. Returns a plan, or nil and a tag word that says why not. The plan for a root
-- also has what its record says of the session: where it stands in run queues, and for an input its state.
local planFields = { 'status', 'wait', 'path1', 'pool', 'run', 'open', 'limits', 'results', 'inbox', 'score', 'turnUs', 'turnShare', 'atOnce' }
local inputFields = { 'status', 'wait', 'path1', 'pool', 'run', 'open', 'limits', 'results', 'inbox', 'score', 'turnUs', 'turnShare', 'cancel', 'ended' }
local function planMail(tag, id, lane, text)
  local recordKey, names, record = workerKey(tag, id), lane == 'inbox' and inputFields or planFields, {}
  local values = readFields(recordKey, unpack(names))
  for index = 1, #names do record[names[index]] = values[index] or nil end
  if not record.status then return nil, 'not_found' end
  if record.status == 'terminal' then return nil, 'terminal' end
  local pool, isRoot, head, call = record.pool or atStart.pool, not record.path1, nil, nil
  if lane == 'results' then head, call = largeHead(text) end
  if head then checkSort('hash', largeKeyOf(recordKey)) end -- guard: a commit is whole even if large results cannot be kept
  return {
    id = id, head = head, call = call, record = recordKey, lane = lane, text = text, length = lengthOf(recordKey .. laneKeys[lane]),
    status = record.status, wait = record.wait or atStart.wait, session = sessionOf(id, record.path1), pool = pool, run = record.run or atStart.run,
    open = record.open, limits = record.limits, results = record.results or atStart.results, consumed = tonumber(record.inbox or atStart.inbox),
    root = isRoot and pool == atStart.pool and record,
    sessionState = lane == 'inbox' and isRoot and stateOf(record.cancel, record.ended), atOnce = lane == 'results' and record.atOnce or nil,
  }
end

-- Is the mailbox full with so many inputs in its lane? Those that a run took before their turn are empty until all before them have gone, and no mails.
-- They are counted only where it matters, once in a step, and only among the last 10 000: senders whom larger mailboxes refuse again and again must not
-- hold Redis up. `known`: what this step has counted, by the record of each recipient.
local earlyMost, allMost = 10000, 50000
local function isFull(plan, length, most, known)
  if length < most then return false end
  if not known[plan.record] then
    known.looked = (known.looked or 0) + math.min(plan.length, earlyMost)
    local mayLook = known.looked <= allMost -- guard: a step looks for room in few large mailboxes
    known[plan.record] = mayLook and #redis.call('LPOS', plan.record .. laneKeys.inbox, '', 'RANK', '-1', 'COUNT', '0', 'MAXLEN', earlyMost) or 0
  end
  return length - known[plan.record] >= most -- guard: an input that was taken early fills no mailbox
end

-- Does a run in progress take this input before it ends? An input of a restricted sender waits for a run of its own, with the rights of that sender.
local function maySteer(plan)
  local isBusy = plan.open == '1' or (plan.status ~= 'idle' and plan.length > 0) -- guard: a worker at rest is not steered
  return isBusy and isWhole(plan.consumed) and not permissionsInMail(plan.text) -- guard: an input of a restricted sender steers no run
end

-- A message that a step sends: a plan, or nil, why not, and the limit, or the state of a session that is over. `ahead` counts the mails that wait for
-- each recipient, those of this step included.
local function planSend(tag, id, text, ahead, when)
  local plan, why = planMail(tag, id, 'inbox', text)
  if not plan then return nil, why end
  local most = limitsOf(plan.record, plan.limits).mailbox
  ahead[id] = (ahead[id] or plan.length) + 1
  local state = plan.sessionState or sessionState(tag, plan.session)
  if state ~= 'active' then return nil, 'session_finished', state or 'pruned' end
  if isFull(plan, ahead[id] - 1, most, ahead) then return nil, 'mailbox_full', digits(most) end -- guard: messages of a commit are refused by a full mailbox
  plan.when, plan.notices = when and maySteer(plan) and when, tag .. ':cancel-notices'
  return plan
end

-- The result of a run for its parent: a plan, or nothing if nobody waits for it.
local function planReport(tag, record, result)
  local plan = planMail(tag, record.parent, 'results', result)
  if plan and plan.open == '1' and plan.run == record.parentRun then -- guard: a result goes only to the run that spawned the child
    if plan.atOnce then planStarts(tag, plan, record) end
    return plan
  end
end

-- In a copied session, values name workers by the ids that they had in the original: what is sent to them stays within the copy.
local function recipientOf(tag, own, id)
  local found = redis.pcall('HGET', originalsKeyOf(tag, own.session), id)
  return type(found) == 'string' and found or id
end

-- The partition in the id of a worker.
local function partitionOf(id)
  local last = tonumber(string.sub(id, -3), 16)
  return last and digits(last)
end

local function partitionOfTag(tag)
  return string.match(tag, '%.(%d+)}$')
end

local function outboxKey(tag, partition)
  return tag .. ':out:' .. partition
end

-- Mail for a worker of another partition, of which nothing is known here: where it goes, or nil and why not. `ahead` counts the mails that wait in
-- each outbox, those of this step included.
local function planSendOut(tag, own, send, ahead)
  local partition, outboxMost = partitionOf(send.worker), 10000
  local key, sentKey = outboxKey(tag, partition), tag .. ':sent'
  checkSort('hash', sentKey)
  checkCount(sentKey, partition, redis.call('HGET', sentKey, partition) or '0')
  ahead[key] = (ahead[key] or lengthOf(key)) + 1
  if ahead[key] > outboxMost then return nil, 'mailbox_full', digits(outboxMost) end -- guard: an outbox has a limit
  return { partition = partition, text = own.id .. '\t' .. send.worker .. '\t' .. (send.when or '') .. '\t' .. send.mail }
end

-- The numbers of an outbox grow, even in a Redis that lost a little of its past: they are times in µs, of the clock of Redis.
local function writeOut(tag, out, now)
  local number = math.max(tonumber(redis.call('HGET', tag .. ':sent', out.partition) or '0') + 1, now * 1000)
  redis.call('HSET', tag .. ':sent', out.partition, digits(number))
  redis.call('RPUSH', outboxKey(tag, out.partition), digits(number) .. '\t' .. out.text)
end

-- Plans all that a step sends. Children that the same step spawns (`born`) begin with more mails. Returns the plans, and those for other partitions; what
-- may not be sent is added to `refused`.
local function planMails(tag, own, sends, born, refused)
  local plans, out, ahead, rules, byId = {}, {}, {}, sendRulesOf(tag, own), {}
  for index = 1, #sends > 0 and #born or 0 do byId[born[index].id] = born[index] end
  local here = partitionOfTag(tag)
  for index = 1, #sends do
    local send = sends[index]
    if own.record.copied then send.worker = recipientOf(tag, own, send.worker) end -- guard: a copy sends nothing to its original
    local newborn = byId[send.worker]
    if newborn then
      newborn.more = newborn.more or {}
      table.insert(newborn.more, send.mail)
      local most = limitsOf(own.recordKey, own.record.limits).mailbox
      if #newborn.more == most then refused[#refused + 1] = { 'mailbox_full', digits(most), send.worker } end
      if not maySend(own, rules, send, own.session) then refused[#refused + 1] = { 'send_exceeded', '0', send.worker } end -- guard: a worker without a right to send sends nothing to a child it spawns
    else
      local isOut = (partitionOf(send.worker) or here) ~= here -- guard: mail for another partition goes to its outbox
      local fine, plan, why, what
      if isOut then fine, plan, why, what = pcall(planSendOut, tag, own, send, ahead)
      else fine, plan, why, what = pcall(planSend, tag, send.worker, send.mail, ahead, send.worker ~= own.id and send.when) end
      if not fine then
        -- The sender is not to blame, and would be taken for poison if this went on as an error.
        what = damageOf(plan) -- guard: a damaged recipient refuses its mail, and stops nothing else of its sender
        if not what then error(plan, 0) end
        plan, why = nil, 'damaged'
      end
      if plan and not maySend(own, rules, send, plan.session, plan.record or workerKey(tag, send.worker)) then plan, why = nil, 'send_exceeded' end
      if isOut then out[#out + 1] = plan else plans[#plans + 1] = plan end
      if why then refused[#refused + 1] = { why, what or '0', send.worker } end
    end
  end
  return plans, out
end

local function writeWokenRecord(tag, plan, now, woke)
  writeWoken(tag, plan, woke)
  redis.call('HSET', workerKey(tag, plan.id), 'status', 'queued', 'queuedAt', digits(now))
end

-- Starts the children that may start because a sibling has ended, as planned with its result.
local function writeStarts(tag, plan, now, woke)
  redis.call('HSET', plan.record, 'atOnce', plan.atOnce)
  if plan.taken > 0 then redis.call('LTRIM', waitingKey(plan.record), plan.taken, -1) end -- guard: a child starts once
  for index = 1, #plan.starts do
    local start = plan.starts[index]
    writeWokenRecord(tag, start, now, woke)
    redis.call('HSET', workerKey(tag, start.id), 'wait', atStart.wait)
  end
end

-- Notes that the run in progress takes this input, by its position, with a ! behind it if the input interrupts the run. The nodes are told, so that a
-- long turn learns of it.
local function writeSteered(plan, length)
  local steer = digits(plan.consumed + length - 1) .. (plan.when == 'interrupt' and '!' or '')
  local before = redis.call('HGET', plan.record, 'steered') or atStart.steered
  redis.call('HSET', plan.record, 'steered', before == atStart.steered and steer or before .. ' ' .. steer)
  redis.pcall('PUBLISH', plan.notices, plan.session)
end

-- Appends the mail, and queues the worker if that wakes it. Returns the lane's length now.
local function writeMail(tag, plan, now, woke)
  if plan.head then redis.call('HSET', largeKeyOf(plan.record), plan.call, plan.text) end
  local length = redis.call('RPUSH', plan.record .. laneKeys[plan.lane], plan.head or plan.text) -- guard: a large result stands beside its lane
  if plan.when then writeSteered(plan, length) end
  if not woke.woken[plan.id] and (plan.status == 'idle' or plan.status == 'parked') then
    -- Only results are ever waited for by their number.
    local count = length + (tonumber(plan.results) or math.huge) -- guard: a commit is whole even if a count of results is damaged
    if wakes(plan.status, plan.wait, plan.when and 'signals' or plan.lane, plan.text, count) then -- guard: an input that steers a run ends its wait like a signal
      writeWokenRecord(tag, plan, now, woke)
    end
  end
  if plan.starts then writeStarts(tag, plan, now, woke) end
  return length
end

-- A message from outside, of which everything is checked: a plan, or nil and the answer that refuses it.
local function planInput(tag, id, text, when)
  local plan, why = planMail(tag, id, 'inbox', text)
  if not plan then return nil, { why } end
  local state = plan.sessionState or sessionState(tag, plan.session)
  if state ~= 'active' then return nil, { 'session_finished', state or 'pruned' } end -- guard: a finished session takes no input
  local most = limitsOf(plan.record, plan.limits).mailbox
  if not isWhole(plan.consumed) then throwDamage('field inbox of ' .. plan.record .. ' should be a whole number') end
  if isFull(plan, plan.length, most, {}) then return nil, { 'mailbox_full', digits(most) } end -- guard: a post is refused by a full mailbox
  plan.when = when and maySteer(plan) and when
  return plan
end

-- Returns its position in the lane, and the wake-ups.
local function writeInput(tag, plan, event, seed, wakeupMs)
  local now, woke = nowMs(), newWakes()
  local position = digits(plan.consumed + writeMail(tag, plan, now, woke) - 1)
  writeQueues(tag, woke)
  local about = plan.id == rootOf(plan.session) and plan.session or (plan.session .. ' ' .. plan.id)
  writeEvents(tag .. ':events', { about, event })
  local wakeups = writeWakeupsOf(tag, woke.pools, seed, now, wakeupMs) -- guard: wake-up rule on post
  return position, wakeups
end

-- The message with which a cancelled run was to begin, if the run has not received it: it is written with the end of the run, or the next run would
-- receive it. Nil: there is none.
local function readDropped(recordKey, record, cancelled)
  if cancelled ~= 'own' or record.open == '1' then return nil end -- guard: a worker that is cancelled for good keeps its mail for reading
  local mail = lengthOf(recordKey .. laneKeys.inbox) > 0 and redis.call('LINDEX', recordKey .. laneKeys.inbox, 0)
  if not mail then return nil end
  return ',"dropped":{"id":"inbox-' .. digits(tonumber(record.inbox or atStart.inbox)) .. '","mail":' .. cjson.encode(mail) .. '}}'
end

local function entryWith(entry, dropped)
  return dropped and (string.sub(entry, 1, -2) .. dropped) or entry
end

-- The result of a run that was cancelled while no node ran it, for the parent that waits: a plan, or nil. encodeResult of core/worker/message/message.ts
-- writes the same of a run that a node ended.
local function planCancelled(tag, id, record, now)
  if not record.parent or (record.run or atStart.run) ~= '1' or record.parentRun == '-' then return nil end
  local call = digits(tonumber(record.call) or 0)
  local number = '-' .. call
  local name = record.name or (string.sub(record.kind, 1, 64 - #number) .. number)
  local failure = { code = 'cancelled', message = 'worker ' .. name .. ' was cancelled', origin = 'runtime', at = now, attempt = 1, retryable = false }
  local body = cjson.encode({ name = name, kind = record.kind, value = cjson.null, failure = failure })
  return planReport(tag, record, 'r\t' .. id .. '\t' .. call .. '\tcancelled\t' .. body)
end

-- Drops what only the ended run could have used: its open timers and asks, and signals and results nobody received.
-- Returns how many mails left the lanes of signals and of results.
local function writeRunLeftovers(tag, id, record, awaited, now)
  local base = workerKey(tag, id)
  if record.wait == 'retry' then redis.call('ZREM', tag .. ':timers', id .. ':retry') end -- guard: a retry ends with its run
  local signals, results = 0, 0
  if (record.signalsOpen or atStart.signalsOpen) ~= '0' then
    local timers = redis.call('HKEYS', base .. ':timers')
    for from = 1, #timers, 1000 do
      local due = {}
      for index = from, math.min(from + 999, #timers) do due[index - from + 1] = id .. ':' .. timers[index] end
      redis.call('ZREM', tag .. ':timers', unpack(due))
    end
    writeWithdrawn(tag, id, now)
    signals = redis.call('LLEN', base .. laneKeys.signals)
    redis.call('UNLINK', base .. ':timers', base .. laneKeys.signals)
  end
  if record.atOnce then redis.call('DEL', waitingKey(base)) end
  if awaited then
    results = redis.call('LLEN', base .. laneKeys.results)
    if results > 0 then redis.call('UNLINK', base .. laneKeys.results, largeKeyOf(base)) end -- guard: large results that nobody received go with their run
  end
  return signals, results
end
