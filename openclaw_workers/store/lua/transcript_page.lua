--[[
  Read the newest of the requested transcript entries, as many as make a short answer.

  includes  transcripts

  keys
    log  list  transcript
  args
    first  number  first entry, from 0; negative from the end
    last   number  last entry, likewise

  Returns  {length of the transcript, index of the first entry returned, entries}

  Invariant
    The answer holds at least one entry if there is any. Otherwise it is limited to what blocks Redis for about a
    millisecond.
]]
local length = redis.call("LLEN", log)
first = math.max(0, first < 0 and length + first or first)
last = math.min(length - 1, last < 0 and length + last or last)
local entries = newest_entries(log, first, last)
return { length, last + 1 - #entries, entries }
