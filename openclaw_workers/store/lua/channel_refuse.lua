--[[
  Give up an update that cannot be accepted, and keep a note for people.

  keys
    received         hash  number of an update -> update (JSON)
    refused_updates  list  notes about updates that were given up (JSON), newest first
  args
    note      text    the note (JSON)
    most      number  how many notes are kept
    numbers…  text    numbers of the updates

  Returns  {how many of them were still waiting}

  Invariant
    An update is noted once (rule 13).
]]
local gone = 0
for _, number in ipairs(numbers) do
  gone = gone + redis.call("HDEL", received, number)
end
if gone > 0 then
  redis.call("LPUSH", refused_updates, note)
  redis.call("LTRIM", refused_updates, 0, most - 1)
end
return { gone }
