--[[ create-sessions – creates one or several sessions, each with its root worker and its first message.
Why a script   a session without its message, or a message without a place in the run queue, would wait for ever.
KEYS[1] sessions  zset               KEYS[2] ends     zset              KEYS[3] events   stream declared
ARGV[1] header    json:
  wakeupMs         how long a wake-up counts as sent
  seed             names of new wake-ups begin with it
  partitions       how many the caller knows; absent: no session has a key
  sessions         in the order of the run queue, each:
    session        id
    kind, pool     of the root
    name           of the root; absent: its kind
    mode           conversation; absent: a job
    limits         "<workers> <children> <depth> <mailbox>"; absent: the defaults
    permissions    of the root, a line for each; absent: nothing is restricted
    configured     settings of its root, if that is an agent, json; absent: those of its kind
    caps           for its agents together, "<model calls> <tokens> <tool calls>"; absent: the defaults
    approval       "<policy> <when nobody answers> <ms>"; absent: the default
    turnShare      "<weight> <priority>" of its turns; absent: the default
    notify         where its result goes when it ends; absent: nowhere
    branchOf       "<worker> <position>" of the history that it begins with; absent: it is no branch
    key            digest of an idempotency key of the caller
    asked          with a key: digest of the request
    keyMs          with a key: for how long a repetition is recognised
    entries        how many entries its history begins with; absent: none
    sent           how many entries of its history prepare-fork.lua has written before; absent: none
    blobs          how many blobs its first message names; absent: none
    rests          true: it has no first message, and waits for one
ARGV[2] texts     then for each session: its first message; its event, json; the entries of its history; and for each blob, whose bytes were sent
        before, its id, its media type and its number of bytes
Returns {{word, session, wakeups}, ...}, one for each session:
        "ok"       it was created
        "again"    it existed, or its key created it before
        "other"    its key created another session before, whose id is returned
        "behind"   the namespace has another number of partitions than the caller knows, so that the key may lead elsewhere; in place of the
                   session: that number
        "unsent"   the bytes of a blob, or entries that were written before, are missing
Builds  T:w:<id> and its mail:inbox and log of the roots; T:s:<session> and its blobs, blob:<id>, blob:<id>:sent, permissions; T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake and T:wake of the pools; T:nodes, T:pools, T:idem, T:meta.
Events  session.created, of each. Writes nothing of a session that is not answered "ok", and nothing at all where it meets an error.
        Sent again, it answers the same sessions and wake-ups, and writes nothing. ]]
local sessionsKey, endsKey = KEYS[1], KEYS[2]
local header = readHeader(ARGV[1])
local texts, cursor = ARGV, 2

local tag = tagOf(sessionsKey)
checkNumbers(header, 'wakeupMs')
checkTexts(header, 'seed')
checkNumbersIfAny(header, 'partitions')
local orders = readOrders(tag, header, texts, cursor)
local answers, fresh, rootKeys = {}, {}, {}
for index = 1, #orders do
  rootKeys[2 * index - 1], rootKeys[2 * index] = orders[index].recordKey, orders[index].inboxKey
end
local known = { partitions = header.partitions, some = #orders > 0 and redis.call('EXISTS', unpack(rootKeys)) > 0, bySession = {}, byKey = {} }
for index = 1, #orders do
  local order = orders[index]
  answers[index] = answerNow(tag, order, known, texts)
  if not answers[index] then fresh[#fresh + 1] = order end
end
local now = #fresh > 0 and nowMs()
local indexed, unended = {}, {}
for index = 1, #fresh do
  indexed[2 * index - 1], indexed[2 * index] = digits(now), fresh[index].session
  unended[2 * index - 1], unended[2 * index] = goesOnSince(now), fresh[index].session
end
if #fresh > 0 then
  checkSort('zset', sessionsKey)
  -- The first write, so it may fail.
  redis.call('ZADD', endsKey, unpack(unended)) -- guard: a session that is created goes on
  redis.call('ZADD', sessionsKey, unpack(indexed))
  writeSessions(tag, fresh, now, header.seed, header.wakeupMs, texts)
end
for index = 1, #orders do
  local order, answer = orders[index], answers[index]
  if not answer then
    answers[index] = { 'ok', order.session, order.wakeups }
  elseif answer.first then
    -- Asked for twice in this call: the first of them was created.
    answers[index] = { answer.word, answer.first.session, answer.first.wakeups }
  end
end
return answers
