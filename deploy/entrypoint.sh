#!/bin/sh
# Read the secrets into the environment, so that `ps` does not show them.
set -eu
secrets=${SECRETS_DIR:-/run/secrets}
# A password may contain characters that are special in a URL, such as base64's / and +.
quoted=$(python -c 'import sys, urllib.parse as u; print(u.quote(open(sys.argv[1]).read().rstrip("\n"), safe=""))' \
    "$secrets/redis_password")
REDIS_URL="redis://:${quoted}@${REDIS_HOST}:6379/0"
export REDIS_URL
if [ -f "$secrets/qdrant_api_key" ]; then
    QDRANT_API_KEY=$(cat "$secrets/qdrant_api_key")
    export QDRANT_API_KEY
fi
if [ "$1" = flower ]; then
    FLOWER_BASIC_AUTH="ocw:$(cat "$secrets/flower_password")"
    # Flower would execute a flowerconfig.py in its working directory, where agents may write.
    FLOWER_CONF=/dev/null
    export FLOWER_BASIC_AUTH FLOWER_CONF
    exec celery -A openclaw_workers.tasks.app flower --address=0.0.0.0 --port=5555
fi
exec "$@"
