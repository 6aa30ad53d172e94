#!/bin/sh
# Reads the secrets into the environment, so that none of them shows in `ps`.
set -eu
secrets=${SECRETS_DIR:-/run/secrets}
# A password may hold what has a meaning of its own in an address, as base64 does.
quoted=$(python -c 'import sys, urllib.parse as u; print(u.quote(open(sys.argv[1]).read().rstrip("\n"), safe=""))' \
    "$secrets/redis_password")
REDIS_URL="redis://:${quoted}@${REDIS_HOST}:6379/0"
export REDIS_URL
if [ "$1" = flower ]; then
    FLOWER_BASIC_AUTH="ocw:$(cat "$secrets/flower_password")"
    # Flower would run a flowerconfig.py of the directory it is started in, and agents may write there.
    FLOWER_CONF=/dev/null
    export FLOWER_BASIC_AUTH FLOWER_CONF
    exec celery -A openclaw_workers.tasks.app flower --address=0.0.0.0 --port=5555
fi
exec "$@"
