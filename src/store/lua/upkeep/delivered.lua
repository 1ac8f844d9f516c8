--[[ delivered – removes mails from an outbox that the other partition has received.
Why a script   another node may remove mails at the same time: only those that this call removes may be reported.
KEYS[1] out       list               KEYS[2] events   stream
ARGV[1] header    json:
  last             number of the last mail that was received there
  most             how many mails one call removes at most
  refused          mails that their recipients refuse, each:
    number         its number in the outbox
    about          its sender, as events name it
ARGV[2] notes     then for each refused mail its events
Returns {taken}: how many were removed
Events  message.undelivered of the senders of those mails. ]]
local outKey, eventsKey = KEYS[1], KEYS[2]
local header, notes = readHeader(ARGV[1]), ARGV

checkNumbers(header, 'last', 'most')
local refused = listOf(header, 'refused')
for index = 1, #refused do
  checkNumbers(refused[index], 'number')
  checkTexts(refused[index], 'about')
  if not notes[index + 1] then error('the notes should be as many as the mails that are refused', 0) end
end
checkSort('stream', eventsKey)
local heads, taken, told = redis.call('LRANGE', outKey, '0', digits(header.most - 1)), 0, {}
for index = 1, #heads do
  local number = tonumber(string.match(heads[index], '^%d+'))
  if not number or number > header.last then break end -- guard: a mail stays in its outbox until it was received
  taken = taken + 1
  told[number] = true
end
if taken > 0 then redis.call('LPOP', outKey, digits(taken)) end
for index = 1, #refused do
  if told[refused[index].number] then writeEvents(eventsKey, { refused[index].about, notes[index + 1] }) end -- guard: a refused mail is reported once
end
return { digits(taken) }
