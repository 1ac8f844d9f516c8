--[[ notices – what is to be told outside: the end of a session, an ask that was opened, a message that was put aside. A notice stands among the
timers, due at once, until a node says that it has told it. `<root>:notify` goes where the session says. The others go to the endpoints
of the namespace: `<root>:notify:end`, `<worker>:notify:<ask>` and `<worker>:notify:<dead letter>`. ]]

-- Is any endpoint told of this partition? Where there is none, endpoints cost a script no more than this question.
local function hasEndpoints(tag)
  return redis.call('EXISTS', tag .. ':endpoints:since') == 1
end

local function writeNotice(tag, notice, now)
  redis.call('ZADD', tag .. ':timers', digits(now), notice)
end
