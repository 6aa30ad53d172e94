"""The lines of the route table about what agents do by themselves and know: jobs, heartbeats, memory."""

from __future__ import annotations

from ingress.api.handlers import memory, schedules
from ingress.api.models import answers, inputs
from ingress.api.models import memory as memory_models
from ingress.api.models import schedules as job_models
from ingress.api.table import Endpoint
from openclaw_workers.domain.tokens import Scope

READ, ADMIN = Scope.READ, Scope.ADMIN

AGENTS = (
    Endpoint("GET", "/cron", "List scheduled jobs", READ, schedules.list_jobs, job_models.JobsAnswer),
    Endpoint(
        "POST",
        "/cron",
        "Add a scheduled job",
        ADMIN,
        schedules.add_job,
        job_models.JobAnswer,
        body=job_models.JobInput,
        status=201,
    ),
    Endpoint("GET", "/cron/{id}", "Show a job and its next times", READ, schedules.get_job, job_models.JobAnswer),
    Endpoint(
        "PATCH",
        "/cron/{id}",
        "Change a job",
        ADMIN,
        schedules.change_job,
        job_models.JobAnswer,
        body=job_models.JobPatch,
    ),
    Endpoint("DELETE", "/cron/{id}", "Remove a job", ADMIN, schedules.remove_job, answers.IdAnswer),
    Endpoint(
        "GET",
        "/cron/{id}/runs",
        "How earlier firings of a job ended",
        READ,
        schedules.list_runs,
        job_models.JobRunsAnswer,
        inputs.LimitQuery,
    ),
    Endpoint("POST", "/cron/{id}/run", "Fire a job now", ADMIN, schedules.run_job, job_models.JobFiredAnswer),
    Endpoint("POST", "/cron/{id}/pause", "Pause a job", ADMIN, schedules.pause_job, job_models.JobAnswer),
    Endpoint("POST", "/cron/{id}/resume", "Resume a job", ADMIN, schedules.resume_job, job_models.JobAnswer),
    Endpoint("GET", "/heartbeats", "List heartbeats", READ, schedules.list_heartbeats, job_models.HeartbeatsAnswer),
    Endpoint(
        "POST",
        "/heartbeats/{agent}/run",
        "Let an agent beat now",
        ADMIN,
        schedules.run_heartbeat,
        job_models.HeartbeatAnswer,
    ),
    Endpoint(
        "POST",
        "/heartbeats/{agent}/pause",
        "Pause a heartbeat",
        ADMIN,
        schedules.pause_heartbeat,
        job_models.HeartbeatAnswer,
    ),
    Endpoint(
        "POST",
        "/heartbeats/{agent}/resume",
        "Let an agent beat again",
        ADMIN,
        schedules.resume_heartbeat,
        job_models.HeartbeatAnswer,
    ),
    Endpoint(
        "GET",
        "/memory",
        "What is indexed",
        READ,
        memory.get_status,
        memory_models.MemoryStatusAnswer,
        memory_models.MemoryQuery,
        slow=True,
    ),
    Endpoint(
        "GET",
        "/memory/files",
        "List memory files",
        READ,
        memory.list_files,
        memory_models.MemoryFilesAnswer,
        memory_models.MemoryQuery,
        slow=True,
    ),
    Endpoint(
        "GET",
        "/memory/file",
        "Read a memory file",
        READ,
        memory.get_file,
        memory_models.MemoryLinesAnswer,
        memory_models.MemoryFileQuery,
        slow=True,
    ),
    Endpoint(
        "GET",
        "/memory/search",
        "Search memory and past conversations",
        READ,
        memory.search,
        memory_models.MemorySearchAnswer,
        memory_models.MemorySearchQuery,
        slow=True,
    ),
    Endpoint(
        "GET",
        "/memory/doctor",
        "Check that memory can be searched",
        READ,
        memory.check,
        memory_models.MemoryChecksAnswer,
        memory_models.MemoryQuery,
        slow=True,
    ),
    Endpoint(
        "POST",
        "/memory/index",
        "Bring the index up to date",
        ADMIN,
        memory.index,
        memory_models.MemoryStatusAnswer,
        body=memory_models.IndexInput,
        slow=True,
    ),
)
