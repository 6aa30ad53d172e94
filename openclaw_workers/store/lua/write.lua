--[[
  Carry out single commands that need no check, also when Redis is full, where plain ones are refused.

  keys
    targets…  keys  the key of each command
  args
    words…  text  for each command how many words follow, and these: its name, and what comes after the key

  Returns  {what each command answered, an error where it failed}

  Invariant
    A command that fails keeps no other from being carried out.
]]
local answers, at = {}, 1
for _, key in ipairs(targets) do
  local count = tonumber(words[at])
  answers[#answers + 1] = redis.pcall(words[at + 1], key, unpack(words, at + 2, at + count))
  at = at + count + 1
end
return answers
