--[[ delivered – removes mails from an outbox that the other partition has received.
Why a script   another node may remove mails at the same time: only those that this call removes may be reported.
KEYS[1] out       list               KEYS[2] events   stream
ARGV[1] header    json:
  numbers          of the mails at the head of the outbox, as the caller read them
  last             number of the last of these that was received there
  refused          mails that their recipients refuse, each:
    number         its number in the outbox
    about          its sender, as events name it
ARGV[2] notes     then for each refused mail its events
Returns {taken}: how many were removed; 0 as well where another node has removed some of them
Events  message.undelivered of the senders of those mails. ]]
local outKey, eventsKey = KEYS[1], KEYS[2]
local header, notes = readHeader(ARGV[1]), ARGV

checkNumbers(header, 'last')
local numbers = header.numbers
if type(numbers) ~= 'table' then error('the header should have a list numbers', 0) end
for index = 1, #numbers do checkNumbers(numbers, index) end
local refused = listOf(header, 'refused')
for index = 1, #refused do
  checkNumbers(refused[index], 'number')
  checkTexts(refused[index], 'about')
  if not notes[index + 1] then error('the notes should be as many as the mails that are refused', 0) end
end
checkSort('stream', eventsKey)
-- Mails leave an outbox at its head alone: where the first one still stands there, so do the others. No other one is read, since each may have a
-- megabyte; and LPOP would read them all.
local head, taken, told = redis.call('LINDEX', outKey, '0') or '', 0, {}
local isThere = tonumber(string.match(head, '^%d+')) == numbers[1] -- guard: a mail of an outbox is removed once
for index = 1, isThere and #numbers or 0 do
  if numbers[index] > header.last then break end -- guard: a mail stays in its outbox until it was received
  taken = taken + 1
  told[numbers[index]] = true
end
if taken > 0 then redis.call('LTRIM', outKey, digits(taken), '-1') end
for index = 1, #refused do
  if told[refused[index].number] then writeEvents(eventsKey, { refused[index].about, notes[index + 1] }) end -- guard: a refused mail is reported once
end
return { digits(taken) }
