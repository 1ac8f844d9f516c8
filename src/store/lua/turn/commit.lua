--[[ commit – records steps, and the ends of turns, each exactly once; where a turn ends it claims its slot's next worker. It takes the commits that
several turns of a node have at the same moment: each is recorded, refused or fenced as if it had been sent alone.
Why a script   history, state, mail, spawns, the run's outcome and the slot's next claim must happen together or not at all.
KEYS[1] leases    zset               KEYS[2] events   stream declared
ARGV[1] header    json:
  wakeupMs         how long a wake-up counts as sent
  seed             names of new wake-ups begin with it
  node             the node, with the fields of claim.lua, where a slot claims or takes children:
    id, leaseMs, mailBytes, suspectAfter, poisonAfter   what all its claims have in common
    kinds          for each pool in which one claims:
      pool, list   its name, and the kinds of the node there
  commits          in the order in which they were made, each as follows; what is absent is as without it. "Text": the number of a text of
                   this commit, 0 for the first
    texts          where the first text of this commit stands among the arguments
    entries        how many history entries: its first texts
    worker         id
    token          by which the node holds the worker
    sequence       of this commit under the token, from 1
    version        the version this commit builds on
    event          text, json: what is told of it
    runState       state of the run
    open           true while a run is in progress
    inputsConsumed, signalsConsumed   how many mails, from the head of the lane
    resultsConsumed   positions in the lane for ever
    largeTaken     of those that are large: the numbers of their calls
    resultsSeen    length for ever of the lane of results, as the node has seen it
    steersTaken    inputs that the run in progress takes before their turn: positions in the lane for ever
    steersSeen     what the turn has not seen of these: positions from this one on
    pendingCalls   calls whose results are still to come
    pendingCount   how many those are, or were when the run ended
    openChildren   where the run ends: the children whose results were still to come, ids; absent: they are looked for among all
    signalsOpen    signals that the run still waits for: timers and answers that have not been received
    steps          recorded steps of the run, by which a later start of the worker knows them
    attempt        "<attempts> <what>" of each that waits for its retry, as the node says
    state          text, json: kept in the record
    stateKey       text, json: kept under a key of its own
    configured     text, json: what somebody has set for this worker; empty: nothing
    failure        text, json: of the last attempt, or of the run
    clearsFailure  true: there is none any more
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
      kind, pool   of the child; absent: those of the one before it
      call         number of the call; absent: the next behind that of the one before it, of the first 1
      mail         text: its input
      more         ids of siblings that follow, and differ in nothing but their calls and texts: the next ones
      name         absent: of its kind and call
      permissions  text, which siblings may share; absent: nothing is restricted
      detached     true: nobody waits for it
      offered      true: the slot takes it at once
    inline         of the children that the slot takes:
      slot, nonce  as for a claim
    sends          messages to others, each:
      worker       to whom
      mail         text
      reach        of an agent whose permissions say nothing of it: how far it may send
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
    withdraws      open asks that nobody need answer any more, each:
      id           of the ask
    cancels        children that are cancelled although the run goes on, each:
      id           of the child
    wait           the turn ends: what the worker waits for; again: nothing, it returns to the run queue
    retryMs        until the next attempt
    turnMs         how long the turn has lasted; absent: less than a millisecond
    leave          wake-up of a slot that claims nothing; empty: of none
    wasBusy        true: that wake-up may be among the busy
    claim          the slot's next claim, with the fields of claim.lua:
      wakeup, slot, nonce   who claims
      maySuspect, wasBusy, keepWakeup   true; absent: false
ARGV[2] texts     of each commit its texts, one after the other
Returns {answer, answer, ...} for each turn one of {"ok", version, wakeups, claimed, spent or nothing, caps or nothing, assigned or nothing, "paused" or nothing,
        approval or nothing, steered or nothing, "opens" or nothing} |
        {"fenced", claimed} | {"conflict", version} | {"cancelled"} | {"refused", list} | {"failed"}: another was recorded, and this one met
        an error, which it meets again when it is sent alone. The wake-ups of all are in the answer of the last that was recorded.
        claimed: nothing, or what claim answers: "assigned" and its parts, "empty", "unfit"
        steered: the positions of the inputs that steer the worker, in turn, of one that interrupts its run with a ! behind it
        assigned: the ids of children that slots took
        opens: the run has ended, and somebody waits at a gate for its place
Builds  T:w:<id> and its keys of these workers, of recipients, children, parents, roots and the next workers; the keys of
        T:s:<session>; T:ends; T:usage:<day>; T:dead; T:cancelling; T:timers; T:endpoints:since; T:sent, T:out; T:asks and T:ask:<id>; T:gates, T:gate:<gate> and its in and waiting; T:per-wake, T:nodes, T:pools, T:wake; tells T:cancel-notices of what steers; for claims T:kind-lists, T:run, T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:claims.
Events  what the node says happened, then session.completed and its like. Nothing is written of a turn that is not answered "ok". ]]
local leasesKey = KEYS[1]
local header = readHeader(ARGV[1])
local texts = ARGV

local tag = tagOf(leasesKey)
checkNumbers(header, 'wakeupMs')
checkTexts(header, 'seed')
local commits, turns, answers = listOf(header, 'commits'), {}, {}
local node = header.node ~= nil and readNode(header.node)
local batch = newBatch(header.wakeupMs, header.seed)
for index = 1, #commits do turns[index] = readCommit(tag, commits[index], texts, node) end
for index = 1, #turns do
  if batch.last then -- guard: a turn with an error stops no other
    local fine, answer = pcall(commitTurn, tag, turns[index], batch)
    answers[index] = fine and not answer.err and answer or { 'failed' }
  else
    -- Nothing was written yet: an error here fails the whole script, and each commit is sent again by itself.
    local answer = commitTurn(tag, turns[index], batch)
    if answer.err then return answer end
    answers[index] = answer
  end
end
if batch.last then finishBatch(tag, batch) end
return answers
