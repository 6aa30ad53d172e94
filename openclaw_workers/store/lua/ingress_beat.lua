--[[
  Note that an ingress process is alive, and what it says of itself.

  includes  clock, hashes, schema

  keys
    ingresses    zset  ingress id -> last heartbeat
    ingress_key  hash  what the process says of itself
    config       hash  the fleet's configuration
  args
    id      text    ingress id
    facts   json    fields of the hash
    keep_s  number  seconds after which a silent process is forgotten

  Returns  {id of the configuration in force or ""}

  Invariant
    A process that is silent for that long leaves no trace.
]]
local now = now_ms()
set_fields(ingress_key, facts)
redis.call("HSET", ingress_key, "beat_at", now, "v", SCHEMA)
redis.call("EXPIRE", ingress_key, keep_s)
redis.call("ZADD", ingresses, now, id)
redis.call("ZREMRANGEBYSCORE", ingresses, "-inf", now - keep_s * 1000)
return { redis.call("HGET", config, "id") or "" }
