--[[ claim – gives a slot the next worker that its node can run, with the right to write for it.
Why a script   choosing, fencing, counting the start and answering the wake-up must happen together or not at all.
KEYS[1] run       zset     run queue of the pool
KEYS[2] leases    zset     declared
KEYS[3] claims    hash     declared; of this node
KEYS[4] wakeups   zset     declared
KEYS[5] busy      zset     declared
ARGV[1] header    json:
  pool             that has the run queue
  wakeup           id, or empty when the node answers no wake-up
  slot             name of the slot that claims
  nonce            fresh for each claim, never derived from the wake-up
  maySuspect       true: the node runs no suspect now
  wasBusy          true: the wake-up may be among the busy ones
  keepWakeup       true: set the wake-up anew
  wakeupMs         how long a wake-up counts as sent
  node             the node of the slot:
    id             of the node
    leaseMs        how long the lease of the worker lasts
    mailBytes      most bytes of a lane in the answer
    suspectAfter   starts without a commit from which on the worker is a suspect
    poisonAfter    isolated starts without a commit from which on its message is put aside
    kinds          of the node, for each pool:
      pool         its name
      list         the kinds, each between spaces; those that spawn nothing come last, behind a single !; a kind with onCancel comes once
                   more, with a * after it. In place of a long list "@<digest>", now and then followed by the list
Returns {"assigned", worker, purpose, token, suspect, record, state, signals, results, inbox, large, spent, caps, limited, approval or nothing} | {"empty"} | {"unfit"}
        large: positions among the results of those that are complete large results; of other large results there are only the heads
Builds  T:kind-lists of the digest; T:w:<id> and its keys, T:w:<root> and the keys of T:s:<session> of the candidates, those of their parents, T:run:unhosted, T:clocks, T:kind-queues;
        T:s:<session>:held of those that are paused;
        T:events, T:dead, T:open-letters, T:timers, T:asks, T:ends, T:cancelling, T:gates, T:gate:<gate> and its in, waiting and begun, of which only the type is checked.
Events  none. Unless it returns "assigned" it writes only that the wake-up is answered, removes workers that should not be in the
        run queue, and keeps those of paused sessions for their resume. ]]
local runKey = KEYS[1]
local header = readHeader(ARGV[1])

local tag = tagOf(runKey)
checkTexts(header, 'pool')
checkNumbers(header, 'wakeupMs')
readClaim(header, readNode(header.node))
return sameAssignment(tag, header) or (claimNext(tag, header, nowMs())) -- guard: a claim that is sent again is answered again
