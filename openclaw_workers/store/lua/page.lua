--[[
  Read some entries of a transcript, the newest of those asked for, as many as make a short answer.

  KEYS[1]  transcript        list

  ARGV[1]  first entry asked for, from 0; negative from the end
  ARGV[2]  last entry asked for, likewise

  Returns  {length of the transcript, place of the first entry returned, entries}

  Invariant
    The answer holds one entry at least, if there is any, and else no more bytes than keep Redis from others for about a
    millisecond.
]]
local log, first, last = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local length = redis.call("LLEN", log)
first = math.max(0, first < 0 and length + first or first)
last = math.min(length - 1, last < 0 and length + last or last)
local entries = newest_entries(log, first, last)
return { length, last + 1 - #entries, entries }
