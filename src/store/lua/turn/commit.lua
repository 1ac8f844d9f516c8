--[[ commit – records steps, and the ends of turns, each exactly once; where a turn ends it claims its slot's next worker. It takes the commits that
several turns of a node have at the same moment: each is recorded, refused or fenced as if it had been sent alone.
Why a script   history, state, mail, spawns, the run's outcome and the slot's next claim must happen together or not at all.
KEYS[1] leases    zset               KEYS[2] events   stream declared
ARGV[1] header    json:
  wakeupMs         how long a wake-up counts as sent
  seed             names of new wake-ups begin with it
  node             the node, with the fields of claim.lua, where a slot claims or takes children:
    id, leaseMs, mailBytes, suspectAfter, poisonAfter   the same for all its claims
    kinds          for each pool in which a slot claims:
      pool, list   its name, and the kinds of the node there
  commits          in the order in which they were made, each as follows. "Text" means: the number of a text of this commit, 0 for the
                   first
    texts          position of the first text of this commit among the arguments
    entries        how many history entries there are; these are its first texts
    worker         id
    token          by which the node holds the worker
    sequence       of this commit under the token, from 1
    version        the version this commit builds on
    event          text, json: its event
    runState       state of the run
    open           true while a run is in progress
    inputsConsumed, signalsConsumed   how many mails it takes from the head of the lane
    resultsConsumed   positions in the lane
    largeTaken     numbers of the calls of the large ones among these results
    resultsSeen    how many results have ever come, as the node knows it
    steersTaken    positions of inputs that the run in progress takes before their turn
    steersUnseenFrom   from this position on, the turn has not seen the inputs that steer the run
    pendingCalls   calls whose results are still to come
    pendingCount   how many those are, or were when the run ended
    openChildren   if the run ends: ids of the children whose results were still to come; absent: the script looks for them among all
    signalsOpen    how many signals the run still waits for: timers and answers that have not been received
    steps          how many steps of a handler (self.step) the run has recorded: a later start of the worker reads that many
    attempt        "<attempts> <what>" for each call or message that waits for its retry, as the node writes it
    state          text, json: kept in the record
    stateKey       text, json: kept under a separate key
    configured     text, json: settings of this worker; empty: none
    failure        text, json: of the last attempt, or of the run
    clearsFailure  true: the last failure is removed
    outcome        completed, failed or cancelled: the run ends
    result         text: mail for the parent
    dead           text, json: evidence of a quarantine. A consumed input goes to the dead letters with it, not into the history
    deadKept       length of the stream of dead letters
    costs          model calls that were answered, each:
      model        its name
      tokensIn, tokensOut   that it used
      micros       what it cost, in millionths of a dollar; absent: nobody knows its price
    atOnce         how many awaited children may run at once; the others wait to start. Absent: the kind does not say
    spawns         children, each:
      id           of the child
      kind, pool   of the child; absent: those of the child before it
      call         number of the call; absent: one more than for the child before it; 1 for the first
      mail         text: its input
      more         ids of further siblings: each is like this child, with the next call and the next text as its mail
      name         absent: made of its kind and call
      permissions  text, which siblings may share; absent: nothing is restricted
      detached     true: nobody waits for it
      offered      true: the slot takes it at once
    inline         for the children that the slot takes:
      slot, nonce  as for a claim
    sends          messages to others, each:
      worker       id of the recipient
      mail         text
      reach        how far an agent may send if its permissions do not say it
      when         steer or interrupt: a run in progress takes it; absent: the next run
    timers         each:
      id           of the timer
      ms           from now on
      value        text, json
    asks           each:
      id           of the ask
      sort         question, approval or signal
      body         text, json: what is asked
      ms           from now on until it expires; absent: never
      onExpiry     with ms: text, json: the answer that the worker receives then
    withdraws      open asks that need no answer any more, each:
      id           of the ask
    cancels        children that are cancelled although the run goes on, each:
      id           of the child
    wait           the turn ends: what the worker waits for; again: nothing, it returns to the run queue
    retryMs        until the next attempt
    isUncounted    true, with again: the turn was released and recorded nothing, so its start does not count
    isIsolated     true, with isUncounted: it was an isolated start
    turnMs         how long the turn has lasted; absent: less than a millisecond
    leave          the slot claims nothing: its wake-up; empty: it has none
    wasBusy        true: that wake-up may be among the busy ones
    claim          the slot's next claim, with the fields of claim.lua:
      wakeup, slot, nonce   who claims
      maySuspect, wasBusy, keepWakeup   true; absent: false
ARGV[2] texts     then for each commit its texts
Returns {answer, answer, ...} for each turn one of {"ok", version, wakeups, claimed, spent or nothing, caps or nothing, assigned or nothing, "paused" or nothing,
        approval or nothing, steered or nothing, "opens" or nothing} |
        {"fenced", claimed} | {"conflict", version} | {"cancelled"} | {"refused", list} | {"failed"}: it is to be sent alone. Another commit was
        recorded before this one met an error; or the end of its run drops many timers and asks. The wake-ups of all are in the answer of
        the last recorded commit.
        claimed: nothing, or the answer of claim: "assigned" and its parts, "empty", "unfit"; or "later": the script has done as much as one may,
        so the slot claims by itself
        spent, caps: what the agents of the session have used together, and what they may use; approval: the session's policy for approvals
        steered: the positions of the inputs that steer the worker, in order; with a ! behind an input that interrupts its run
        assigned: the ids of children that slots took
        opens: the run has ended, and somebody waits at a gate for its place
Builds  T:w:<id> and its keys of these workers, of recipients, children, parents, roots and the next workers; the keys of
        T:s:<session>; T:ends; T:usage:<day>; T:dead, T:open-letters; T:cancelling; T:timers; T:endpoints:since; T:sent, T:out; T:asks and T:ask:<id>; T:gates, T:gate:<gate> and its in and waiting; T:per-wake, T:nodes, T:pools, T:wake; tells T:cancel-notices of what steers; for claims T:kind-lists, T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:claims.
Events  those that the node sends, then session.completed and the like. Nothing is written for a turn whose answer is not "ok". ]]
local leasesKey = KEYS[1]
local header = readHeader(ARGV[1])
local texts = ARGV

-- In shared/turn/, requests.lua reads what was sent; commit-checks.lua, commit-steps.lua and commit-ends.lua have the steps of one commit; and batches.lua
-- does what is done once for all commits of the script. Commits know nothing of each other; they share a batch, which has their time.

-- Keeps what the node says happened, and after it the end of the session, if it ended: one entry tells of all turns of the script.
local function tellEvent(turn, batch)
  local commit, ended = turn.commit, turn.ended
  local event = commit.event
  if ended then
    local note = '["session.' .. ended .. (commit.outcome and ('",' .. turn.endPosition) or '"') .. ']]'
    event = (event and (string.sub(event, 1, -2) .. ',') or '[') .. note
  end
  if not event then return end
  local facts = batch.events
  facts[#facts + 1] = turn.record.parent and (turn.session .. ' ' .. commit.worker) or turn.session
  facts[#facts + 1] = event
end

-- Does the end of the run drop so many timers and asks that several such ends would hold Redis for too long?
local function dropsMany(turn)
  local signalsMost = 50
  return turn.commit.outcome and (tonumber(turn.record.signalsOpen or atStart.signalsOpen) or 0) > signalsMost
end

-- The answer to a commit that was recorded. Its third and fourth part come when all commits of the script are written: wake-ups, and the slot's claim.
local function answerOf(turn, version)
  local answer = { 'ok', version, '', false, turn.others.spent or turn.spentBefore, turn.caps, turn.assigned or nil }
  if turn.paused then addPart(answer, 'paused', 'paused') end -- guard: pause check of commit
  if turn.approval then addPart(answer, 'approval', turn.approval) end -- guard: a commit answers what the session says of approvals
  addSteered(answer, turn.steered)
  if turn.opensGate then addPart(answer, 'opens', 'opens') end
  return answer
end

-- Writes the costs of model calls, of this worker and of its session.
local function writeCosts(turn, batch)
  local costs = turn.commit.costs
  if #costs == 0 then return end
  change(turn, 'cost', turn.cost)
  changeRoot(turn, 'sessionCost', turn.sessionCost)
  countUsage(batch.usage, turn.record.kind, costs)
end

-- Writes how many mails of each lane have been taken in all.
local function writeCounts(turn)
  local gone = turn.inputsGone or turn.commit.inputsConsumed or 0
  if turn.signals > 0 then change(turn, 'signals', digits(turn.signals)) end
  if turn.results > 0 then change(turn, 'results', digits(turn.results)) end
  if gone > 0 then change(turn, 'inbox', digits(tonumber(turn.record.inbox or atStart.inbox) + gone)) end
end

-- Writes the fields that have changed: of the worker's record, and of its root's.
local function writeChanges(turn)
  if turn.record.wakeups then change(turn, 'wakeups', atStart.wakeups) end
  redis.call('HSET', turn.recordKey, unpack(turn.changes))
  if turn.record.parent and #turn.ofRoot > 0 then redis.call('HSET', turn.rootKey, unpack(turn.ofRoot)) end -- guard: an ended run of a child is marked at the root
end

-- Notes that the session ended with this commit, for what is done once for all commits of the script.
local function noteEnd(turn, batch)
  local ends = batch.ends
  ends[#ends + 1] = digits(timeOf(batch))
  ends[#ends + 1] = turn.session
end

-- Checks the commit of one turn and writes it. Returns its answer.
local function commitTurn(tag, turn, batch)
  local instead = guardTurn(tag, turn, batch) or planTurn(tag, turn, batch)
  if instead then return instead end
  if batch.lastAnswer and dropsMany(turn) then return { 'failed' } end -- guard: a run that drops many timers and asks ends in a script of its own
  local commit, record = turn.commit, turn.record
  local version = digits(commit.version + 1)
  turn.changes = { 'commit', commit.token .. ':' .. digits(commit.sequence) .. ':' .. version }
  turn.woke = newWakes(batch.pools)
  turn.ofRoot = record.parent and {} or turn.changes
  turn.signals = tonumber(record.signals or atStart.signals) + (commit.signalsConsumed or 0)
  turn.results = tonumber(record.results or atStart.results)
  local failed = writeEntries(turn)
  if failed then return failed end
  writeTaken(tag, turn, batch)
  writeState(turn)
  writeCosts(turn, batch)
  writeOthersIfAny(tag, turn, batch)
  writeTimersAndAsks(tag, turn, batch)
  writeCancels(tag, turn)
  if commit.outcome then writeRunEnd(tag, turn, batch) end
  writeCounts(turn)
  if commit.wait then writeTurnEnd(tag, turn, batch) end
  if turn.ended then writeEndNotices(tag, turn.session, timeOf(batch), record.notify, batch.listens) end
  writeChanges(turn)
  writeQueues(tag, turn.woke)
  tellEvent(turn, batch)
  local answer = answerOf(turn, version)
  batch.lastAnswer, batch.lastRecordKey = answer, turn.recordKey
  if turn.ended then noteEnd(turn, batch) end
  if commit.wait then writeSlotEnd(tag, turn, batch, answer) end
  return answer
end

local tag = tagOf(leasesKey)
checkNumbers(header, 'wakeupMs')
checkTexts(header, 'seed')
local commits, turns, answers = listOf(header, 'commits'), {}, {}
local node = header.node ~= nil and readNode(header.node)
local batch = newBatch(header.wakeupMs, header.seed)
for index = 1, #commits do turns[index] = readCommit(tag, commits[index], texts, node) end
for index = 1, #turns do
  if batch.lastAnswer then -- guard: a turn with an error stops no other
    local fine, answer = pcall(commitTurn, tag, turns[index], batch)
    answers[index] = fine and not answer.err and answer or { 'failed' }
  else
    -- Nothing was written yet: an error here fails the whole script, and each commit is sent again by itself.
    local answer = commitTurn(tag, turns[index], batch)
    if answer.err then return answer end
    answers[index] = answer
  end
end
if batch.lastAnswer then finishBatch(tag, batch, texts) end
return answers
