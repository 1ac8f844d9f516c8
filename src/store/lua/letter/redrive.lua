--[[ redrive – puts the message of a dead letter back into its worker's mailbox, once; the letter stays, as evidence.
Why a script   without the disposition, the next call would put the message back again; without the message, a letter noted as redriven would be lost.
KEYS[1] record    hash               KEYS[2] inbox     list   declared    KEYS[3] dead     stream
KEYS[4] redriven  zset               KEYS[5] run      zset   declared    KEYS[6] events   stream declared
ARGV[1] worker        ARGV[2] letter       its id in the stream          ARGV[3] seed         ARGV[4] wakeupMs
ARGV[5] event
Returns {"ok", position, wakeups} | {"again", position, wakeups} | {"no_letter"}: no letter of this worker has that id
        | {"no_message"}: the letter holds only evidence | {"not_found"} | {"terminal"} | {"session_finished", state} | {"mailbox_full", most}
Builds  T:w:<root>; T:open-letters; T:clocks, T:kind-queues, T:wakeups, T:busy, T:slots, T:per-wake and T:wake of the worker's pool; T:nodes, T:pools.
Events  message.redriven. A letter that was put back gets the first answer again, as "again"; one that was dismissed goes back all the same.
        Writes nothing unless it returns "ok". ]]
local recordKey, deadKey, redrivenKey = KEYS[1], KEYS[3], KEYS[4]
local worker, letter, seed, wakeupMs, event = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]

local tag = tagOf(recordKey)
local at = string.match(letter, '^(%d+)%-%d+$')
if not at then return { 'no_letter' } end
local disposition = dispositionOf(redrivenKey, letter, at)
local before, wakeups = string.match(disposition or '', '^(%d+) ?(.*)$')
if before then return { 'again', before, wakeups } end
local fields = readLetter(deadKey, letter)
if fields.worker ~= worker then return { 'no_letter' } end -- guard: a letter goes to its own worker
if not fields.mail then return { 'no_message' } end
local plan, refusal = planInput(tag, worker, fields.mail)
if not plan then return refusal end
checkArguments(wakeupMs)
checkLast(event)

local position, wakeups = writeInput(tag, plan, event, seed, wakeupMs)
if disposition then redis.call('ZREM', redrivenKey, letter .. ' ' .. disposition) end -- guard: a redriven letter is no longer dismissed
writeDisposition(redrivenKey, deadKey, letter, at, position .. ' ' .. wakeups)
return { 'ok', position, wakeups }
