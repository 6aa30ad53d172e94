--[[
  Read some entries of a transcript, the newest of those asked for, as many as make a short answer.

  includes  transcripts

  keys
    log  list  transcript
  args
    first  number  first entry asked for, from 0; negative from the end
    last   number  last entry asked for, likewise

  Returns  {length of the transcript, place of the first entry returned, entries}

  Invariant
    The answer holds one entry at least, if there is any, and else no more bytes than keep Redis from others for about a
    millisecond.
]]
local length = redis.call("LLEN", log)
first = math.max(0, first < 0 and length + first or first)
last = math.min(length - 1, last < 0 and length + last or last)
local entries = newest_entries(log, first, last)
return { length, last + 1 - #entries, entries }
