--[[ deliver – puts mails from the outbox of another partition into the mailboxes of this one, in their order, each once.
Why a script   a mail in its mailbox that is not recorded as received would come again; a mail that is recorded first could be lost.
KEYS[1] received  hash
ARGV[1] header    json:
  from             the partition that sent them
  seed             names of new wake-ups begin with it
  wakeupMs         how long a wake-up counts as sent
  mails            in the order of the outbox, each:
    number         its number in the outbox
    worker         id of the recipient
    when           steer or interrupt: the run in progress takes it; empty: the next run does
ARGV[2] texts     then each mail as text
Returns {last, wakeups, {number, why, ...}}
        last: number of the last mail that was received, now or before
        number, why: each mail that its recipient refuses, or has refused in an earlier call, with a word that post.lua returns. Whoever takes it
        out of its outbox tells of it, and that may be another node
Builds  T:w:<id> and its inbox, T:w:<root>; T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake and T:wake of its pool; T:nodes, T:pools;
        tells T:cancel-notices of what steers.
Events  none: its sender's commit has told of it. A mail that was received before is passed over. ]]
local receivedKey = KEYS[1]
local header, texts = readHeader(ARGV[1]), ARGV

local tag = tagOf(receivedKey)
checkTexts(header, 'from', 'seed')
checkNumbers(header, 'wakeupMs')
local mails, refused = listOf(header, 'mails'), {}
for index = 1, #mails do
  checkTexts(mails[index], 'worker', 'when')
  checkNumbers(mails[index], 'number')
  if not texts[index + 1] then error('the texts should be as many as the mails', 0) end
end
local refusedField = header.from .. ' refused'
local known = redis.call('HMGET', receivedKey, header.from, refusedField)
checkCount(receivedKey, header.from, known[1] or '0')
local last = tonumber(known[1] or '0')
-- Mails that were refused before. Those in front of the first of these mails have left the outbox, and were told of; the others perhaps not yet.
local first = #mails > 0 and mails[1].number or 0
for number, why in string.gmatch(known[2] or '', '(%d+) ([%l_]+)') do
  if tonumber(number) >= first then -- guard: no more refused mails are remembered than stand in an outbox
    refused[#refused + 1] = number
    refused[#refused + 1] = why
  end
end

local now, woke = nowMs(), newWakes()
for index = 1, #mails do
  local mail = mails[index]
  if mail.number > last then -- guard: a mail of another partition is received once
    local fine, plan, why = pcall(planInput, tag, mail.worker, texts[index + 1], mail.when ~= '' and mail.when)
    if not fine then
      if not damageOf(plan) then error(plan, 0) end
      why = { 'damaged' } -- guard: a damaged recipient holds up no mail of others
      plan = nil
    end
    redis.call('HSET', receivedKey, header.from, digits(mail.number)) -- guard: the number of the last received mail is recorded
    last = mail.number
    if plan then
      plan.notices = tag .. ':cancel-notices'
      writeMail(tag, plan, now, woke)
      writeQueues(tag, woke)
    else
      refused[#refused + 1] = digits(mail.number)
      refused[#refused + 1] = why[1]
      redis.call('HSET', receivedKey, refusedField, table.concat(refused, ' ')) -- guard: a refused mail is answered as such until it was told of
    end
  end
end
return { digits(last), writeWakeupsOf(tag, woke.pools, header.seed, now, header.wakeupMs), refused }
