--[[
  Publish a configuration for the whole fleet, as a new version.

  includes  hashes

  keys
    config           hash  the current version
    config_versions  hash  all kept versions
  args
    document  text    the configuration (JSON)
    digest    text    digest of its settings
    expected  number  the version that it replaces: 0 if there must be none, -1 for any
    most      number  how many versions are kept

  Returns  {"published", number of the current version, its id}
           {"same", number, id}      these settings were in force already
           {"conflict", number, id}  another version is in force; nothing was changed

  Invariant
    Numbers only grow. The same settings twice in a row are one version, so a repeat returns the first answer. A
    configuration that was made from an older version changes nothing.
]]
local current = fields(config, "number", "digest", "id", "last", "document")
local number = tonumber(current.number) or 0

if number > 0 and current.digest == digest then
  return { current.document == document and "published" or "same", number, current.id }
end
if expected >= 0 and expected ~= number then
  return { "conflict", number, current.id or "" }
end

number = math.max(number, tonumber(current.last) or 0) + 1
local id = number .. "-" .. string.sub(digest, 1, 8)
redis.call("HSET", config, "number", number, "last", number, "digest", digest, "id", id, "document", document)
redis.call("HSET", config_versions, number, document)
redis.call("HDEL", config_versions, number - most)
return { "published", number, id }
