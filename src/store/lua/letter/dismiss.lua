--[[ dismiss – records that a dead letter has been dealt with, so that nobody is warned of it again; the letter stays, as evidence.
Why a script   a letter that is put back at the same moment must be reported as put back, and a disposition without a letter would never be removed.
KEYS[1] dead      stream                 KEYS[2] redriven  zset
ARGV[1] worker        ARGV[2] letter       its id in the stream
Returns {"ok"} | {"again"}: it was dismissed before | {"redriven", position}: it was put back | {"no_letter"}: no letter of this worker has that id
Builds  T:open-letters.
Events  none: it is bookkeeping of who looks after a system. Writes nothing unless it returns "ok". ]]
local deadKey, redrivenKey = KEYS[1], KEYS[2]
local worker, letter = ARGV[1], ARGV[2]

local at = string.match(letter, '^(%d+)%-%d+$')
if not at or readLetter(deadKey, letter).worker ~= worker then return { 'no_letter' } end -- guard: a letter is dismissed by its own worker
local disposition = dispositionOf(redrivenKey, letter, at)
if disposition == 'dismissed' then return { 'again' } end -- guard: a letter is dismissed once
if disposition then return { 'redriven', string.match(disposition, '^%d+') } end -- guard: a letter that was redriven is not dismissed
writeDisposition(redrivenKey, deadKey, letter, at, 'dismissed')
return { 'ok' }
