--[[ claim – gives a slot the next worker that its node can run, with the right to write for it.
Why a script   choosing, fencing, counting the start and answering the wake-up must happen together or not at all.
KEYS[1] run       zset     run queue of the pool
KEYS[2] leases    zset     declared
KEYS[3] claims    hash     declared; of this node
KEYS[4] wakeups   zset     declared
KEYS[5] busy      zset     declared
ARGV[1] header    json:
  pool             whose run queue it is
  wakeup           id, or empty when the node answers no wake-up
  slot             who claims
  nonce            fresh for each claim, never derived from the wake-up
  maySuspect       true: the node runs no suspect now
  wasBusy          true: the wake-up may be among the busy
  keepWakeup       true: set the wake-up anew
  wakeupMs         how long a wake-up counts as sent
  node             whose slot it is:
    id             of the node
    leaseMs        how long the lease of the worker lasts
    mailBytes      most bytes of a lane in the answer
    suspectAfter   starts without a commit from which on the worker is a suspect
    poisonAfter    starts alone without a commit from which on it is put aside
    kinds          of the node, for each pool:
      pool         its name
      list         the kinds, each with a space before and behind; those that spawn nothing behind a !; of those with onCancel the name
                   once more, with a * behind it; of a long list "@<digest>", and from time to time the list behind it
Returns {"assigned", worker, purpose, token, suspect, record, state, signals, results, inbox, large, spent, caps, limited, approval or nothing} | {"empty"} | {"unfit"}
        large: where large results stand among the results; of others there are the heads
Builds  T:kind-lists of the digest; T:w:<id> and its keys, T:w:<root> and the keys of T:s:<session> of the candidates, those of their parents, T:run:unhosted, T:clocks, T:kind-queues;
        T:s:<session>:held of those that are paused;
        T:events, T:dead, T:timers, T:asks, T:ends, T:cancelling, T:gates, T:gate:<gate> and its in, waiting and begun, of which only the sort is looked at.
Events  none. Unless it returns "assigned" it writes only that the wake-up is answered, removes workers that should not be in the
        run queue, and keeps those of paused sessions for their resume. ]]
local runKey = KEYS[1]
local header = readHeader(ARGV[1])

local tag = tagOf(runKey)
checkTexts(header, 'pool')
checkNumbers(header, 'wakeupMs')
readClaim(header, readNode(header.node))
return sameAssignment(tag, header) or claimNext(tag, header, nowMs()) -- guard: a claim that is known
