--[[
  Carry out single commands that need no check, also when Redis is full, where plain ones are refused.

  KEYS[1]  the key of each command, from KEYS[1] on

  ARGV[1]  for each command how many words follow, and these: its name, and what comes after the key; from ARGV[1] on

  Returns  {what each command answered, an error where it failed}

  Invariant
    A command that fails keeps no other from being carried out.
]]
local first_key, first_word = 1, 1
local answers = {}
for i = 0, #KEYS - 1 do
  local words = tonumber(ARGV[first_word])
  answers[#answers + 1] = redis.pcall(
    ARGV[first_word + 1], KEYS[first_key + i], unpack(ARGV, first_word + 2, first_word + words))
  first_word = first_word + words + 1
end
return answers
