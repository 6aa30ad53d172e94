--[[
  Run single commands that need no check, also when Redis is full and refuses plain ones.

  keys
    targets…  keys  the key of each command
  args
    words…  text  for each command the number of words that follow, and these: its name, and what comes after the key

  Returns  {the answer of each command, an error where it failed}

  Invariant
    A command that fails does not keep the others from running.
]]
local answers, at = {}, 1
for _, key in ipairs(targets) do
  local count = tonumber(words[at])
  answers[#answers + 1] = redis.pcall(words[at + 1], key, unpack(words, at + 2, at + count))
  at = at + count + 1
end
return answers
