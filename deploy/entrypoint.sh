#!/bin/sh
# Reads the secrets into the environment, so that none of them shows in `ps`.
set -eu
REDIS_URL="redis://:$(cat /run/secrets/redis_password)@${REDIS_HOST}:6379/0"
export REDIS_URL
if [ "$1" = flower ]; then
    FLOWER_BASIC_AUTH="ocw:$(cat /run/secrets/flower_password)"
    export FLOWER_BASIC_AUTH
    exec celery -A openclaw_workers.tasks.app flower --address=0.0.0.0 --port=5555
fi
exec "$@"
