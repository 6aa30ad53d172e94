"""Celery settings; `celeryconfig.py` at the top level imports them. A line that departs from the default says why.

Addresses and the few values that people tune come from the project's own configuration; the rest is decided here.
"""

from openclaw_workers.store.keys import broker_prefix
from openclaw_workers.tasks.settings import namespace, redis_url, sends_task_events

_broker_prefix = broker_prefix(namespace())

broker_url = redis_url()

# Turns return nothing through Celery: Redis state is the truth, a message is only a wake-up.
task_ignore_result = True
result_backend = broker_url
# Each thread of the pool would otherwise make a backend and a connection of its own; only chords use it, and rarely.
result_backend_thread_safe = True

# Acknowledge when the task returns: until then it counts against the prefetch limit.
task_acks_late = True

# Late acknowledgement alone does not cover a pool child that dies: by default Celery acknowledges then.
# Leases make a second delivery harmless, and attempts are counted in the run record, not in deliveries.
task_reject_on_worker_lost = True

# A turn takes minutes. A prefetched message would wait behind it while another worker sits idle.
worker_prefetch_multiplier = 1

broker_transport_options = {
    # Redis knows no acknowledgements. kombu emulates them with two transactions a message, half the cost of a short
    # turn, to redeliver what nobody acknowledged. Here the sweep redelivers: work without a live lease is due in Redis,
    # whoever lost the message.
    "ack_emulation": False,
    # One priority: lanes are queues of their own, and a pop looks at one key instead of four.
    "priority_steps": [0],
    "sep": ":",
    "global_keyprefix": _broker_prefix,
    # Without it a publish to a frozen Redis blocks for ever; the sweep repeats what was not published. Accepting a
    # repeated message may publish, and promises an answer within 3 s.
    "socket_timeout": 2.0,
    "socket_connect_timeout": 2.0,
    # Nor is connecting tried again, four seconds by default. Consumers have a setting of their own for it, below.
    "max_retries": 0,
    "socket_keepalive": True,
    # A server that froze answers nothing and closes nothing, while the others have elected another one. By default a
    # consumer notices after 25 to 51 seconds.
    "health_check_interval": 5,
}
# A frozen Redis would hold up whoever begins or ends a chord, a turn or a sweeper, for two minutes or twenty tries. The
# sweep wakes children whose chord was not published.
result_backend_transport_options = {
    "global_keyprefix": _broker_prefix,
    "retry_policy": {"max_retries": 0},
}
redis_socket_timeout = 2.0
redis_socket_connect_timeout = 2.0

# A fleet must survive a long Redis outage unattended.
broker_connection_retry_on_startup = True
broker_connection_max_retries = None

# Nor may it die of what a server answers that cannot write for a while: one that was demoted or lost its replicas.
broker_channel_error_retry = True

# A turn goes on while the broker is away: its lease and journal decide, not the connection.
worker_cancel_long_running_tasks_on_connection_loss = False

# The counters of a chord must outlive children that wait for days; they are deleted after the announce.
result_chord_expires = 30 * 86400

# JSON only: what comes out of a queue must never be code.
task_serializer = "json"
result_serializer = "json"
accept_content = ["json"]

# Tasks are sent by name to named queues, one per lane.
task_default_queue = "main"
task_create_missing_queues = True
imports = ("openclaw_workers.tasks.turn", "openclaw_workers.tasks.service")

# Events feed Flower and cost about a fifth of the throughput of empty turns; a setting switches them off.
worker_send_task_events = sends_task_events()
task_track_started = True

# Our own logging is set up by tasks.signals.
worker_hijack_root_logger = False
worker_redirect_stdouts = False

# Flower and `celery control` need it. Gossip and mingle have no setting; tasks.signals switches them off.
worker_enable_remote_control = True

enable_utc = True
timezone = "UTC"
