"""The test that shows the effect of each setting: it fails if the setting is ignored, not only if it does not load.

A path is written as in the file, with `*` for the items of lists and maps. Settings that `agents.defaults`,
`agents.list` and `agents.profiles` have in common are listed once, below `agents.*`: `test_effects` shows that an agent
gets them from any of the three.
"""

from __future__ import annotations

from typing import Final

from openclaw_workers.domain.job import JobDraft

_ACCEPT: Final = "tests/component/engine/test_accept.py"
_ACCESS: Final = "tests/unit/engine/test_access_rules.py"
_ADDRESS: Final = "tests/integration/test_cli_addressing.py::test_a_message_goes_to_the_session_that_the_settings_name"
_CHILD_CLEANUP: Final = "tests/component/engine/test_child_cleanup.py"
_APPROVALS: Final = "tests/component/engine/test_approvals.py"
_ASIDE: Final = "tests/component/engine/test_side_calls.py"
_BEATS: Final = "tests/component/engine/test_heartbeat.py"
_BINDING: Final = "tests/integration/ingress/test_binding.py"
_BINDINGS: Final = "tests/unit/engine/test_bindings.py"
_CELERY: Final = "tests/component/test_celery_settings.py"
_CHAT: Final = "tests/component/providers/test_openai_chat.py"
_CHATS: Final = "tests/component/engine/test_chat_delivery.py"
_CLI: Final = "tests/component/providers/test_program.py"
_COMPACTION: Final = "tests/unit/agent/test_compaction.py"
_EXEC_RULES: Final = "tests/unit/engine/test_exec_rules.py"
_FAILOVER: Final = "tests/component/engine/test_failover.py"
_FLUSH: Final = "tests/unit/agent/test_memory_flush.py"
_FORCE: Final = "tests/component/engine/test_settings_in_force.py"
_GATE: Final = "tests/component/engine/test_access_gate.py"
_HOOKS: Final = "tests/component/engine/test_hooks.py"
_HOSTILE: Final = "tests/integration/ingress/test_hostile.py"
_HOOK_ACTIONS: Final = "tests/unit/ingress/test_hook_actions.py"
_HOOK_SESSIONS: Final = "tests/unit/ingress/test_hook_sessions.py"
_IDENTIFIERS: Final = "tests/unit/agent/test_identifiers.py"
_INGRESS: Final = "tests/integration/ingress"
_JOBS: Final = "tests/component/engine/test_jobs.py"
_JOB_DELIVERY: Final = "tests/component/engine/test_job_delivery.py"
_KEYS: Final = "tests/component/engine/test_failover_keys.py"
_LEVELS: Final = "tests/component/providers/test_levels.py"
_LOOPS: Final = "tests/unit/agent/test_loop_detection.py"
_MCP: Final = "tests/component/tools/mcp/test_stdio.py"
_MCP_HTTP: Final = "tests/component/tools/mcp/test_http.py::test_a_server_is_used_restarted_and_used_again"
_MCP_TOOLS: Final = f"{_MCP}::test_tools_are_named_after_their_server_and_their_answers_are_untrusted"
_MCP_ENVIRONMENT: Final = f"{_MCP}::test_a_server_gets_the_configured_environment_and_no_secrets"
_MAINTENANCE: Final = "tests/component/engine/test_maintenance.py"
_MEMORY: Final = "tests/component/engine/test_memory_settings.py"
_METRICS: Final = "tests/component/engine/test_metrics.py"
_MEMORY_TURNS: Final = "tests/component/engine/test_memory_turns.py"
_PLUGINS: Final = "tests/component/tools/plugins/test_load.py"
_PLUGIN_MODULES: Final = f"{_PLUGINS}::test_modules_of_the_configuration_are_loaded_and_their_tools_offered"
_PLUGINS_DENIED: Final = f"{_PLUGINS}::test_plugins_can_be_denied_one_by_one_or_all"
_POLICY: Final = "tests/unit/tools/policy/test_layers.py"
_PROMPT: Final = "tests/component/engine/test_prompt_turns.py"
_PRUNING: Final = "tests/unit/agent/test_pruning.py"
_REGISTRY: Final = "tests/unit/providers/test_registry.py"
_RESOLVE: Final = "tests/unit/config/test_resolve.py"
_SEND_POLICY: Final = "tests/unit/engine/test_send_policy.py"
_SESSIONS: Final = "tests/component/engine/test_session_tools.py"
_SKILL_TURNS: Final = "tests/component/engine/test_skill_turns.py"
_SKILLS: Final = "tests/component/skills/test_catalog.py"
_SKILL_LIST: Final = "tests/unit/skills/test_listing.py"
_SPAWN: Final = "tests/component/engine/test_spawn.py"
_SPAWN_CHOICES: Final = "tests/component/engine/test_spawn_choices.py"
_SPENDING: Final = "tests/component/engine/test_budgets_and_limits.py"
_TOOL_SECRETS: Final = "tests/component/engine/test_tool_secrets.py"
_TURN: Final = "tests/component/engine/test_turn_runner.py"
_TELEGRAM: Final = "tests/integration/telegram"
_WEB_FETCH: Final = "tests/component/tools/test_web_fetch.py"
_WEB_PARTS: Final = "tests/unit/tools/test_web_parts.py"
_WEB_SEARCH: Final = "tests/component/tools/test_web_search.py"
_WEBHOOKS: Final = "tests/integration/ingress/test_webhooks.py"
_WEBHOOK_ADAPTER: Final = "tests/component/ingress/test_webhook_adapter.py"
_WORKER: Final = "tests/component/test_worker_settings.py"

_BY_SENDER: Final = "test_tools_in_a_group_may_depend_on_who_asks"
_IN_PROMPT: Final = f"{_PROMPT}::test_what_is_configured_and_what_lies_in_the_workspace_is_said"
_LIMITS_OF_A_MINUTE: Final = f"{_SPENDING}::test_who_is_over_a_limit_per_minute_waits_for_the_minute"
_LIMITS_AT_A_TIME: Final = f"{_SPENDING}::test_who_is_over_a_concurrency_limit_waits_and_is_served"
_OVER_BUDGET: Final = f"{_SPENDING}::test_a_turn_over_budget_ends_with_a_clear_answer"
_COMMANDS: Final = "tests/component/engine/test_background_commands.py"
_BACKGROUND: Final = {
    "tools.exec.backgroundMs": f"{_COMMANDS}::test_how_long_a_call_waits_and_output_is_kept_are_settings",
    "tools.exec.cleanupMs": f"{_COMMANDS}::test_how_long_a_call_waits_and_output_is_kept_are_settings",
    "tools.exec.notifyOnExit": f"{_COMMANDS}::test_reports_can_be_turned_off",
}
_SANDBOXED: Final = "tests/component/engine/test_sandboxed_turns.py"
_ESCAPES: Final = "tests/component/sandbox/test_escapes.py"
_SANDBOXES: Final = "tests/component/sandbox/test_sandboxes.py"
_SANDBOX: Final = {
    "sandbox.mode": f"{_SANDBOXED}::test_non_main_sandboxes_all_but_the_main_session",
    "sandbox.backend": f"{_SANDBOXED}::test_without_a_working_sandbox_a_command_is_refused_and_does_not_run",
    "sandbox.scope": f"{_SANDBOXED}::test_the_scope_says_who_shares_a_sandbox",
    "sandbox.workspaceAccess": f"{_SANDBOXED}::test_access_to_the_agents_workspace_is_as_configured",
    "sandbox.network": f"{_ESCAPES}::test_there_is_no_network_unless_it_is_allowed",
    "sandbox.limits.memory": f"{_ESCAPES}::test_a_memory_bomb_is_stopped",
    "sandbox.limits.tmp": f"{_ESCAPES}::test_a_memory_bomb_is_stopped",
    "sandbox.limits.cpuSeconds": f"{_ESCAPES}::test_processor_time_and_time_are_limited",
    "sandbox.limits.seconds": f"{_ESCAPES}::test_processor_time_and_time_are_limited",
    "sandbox.limits.processes": f"{_ESCAPES}::test_no_more_processes_than_allowed_run_at_a_time",
    "sandbox.limits.disk": f"{_ESCAPES}::test_a_disk_bomb_in_one_file_and_in_many_is_stopped",
    "sandbox.prune.idle": f"{_SANDBOXES}::test_idle_and_old_sandboxes_are_deleted_but_not_busy_ones",
    "sandbox.prune.maxAge": f"{_SANDBOXES}::test_idle_and_old_sandboxes_are_deleted_but_not_busy_ones",
    "sandbox.uidBase": f"{_SANDBOXES}::test_as_root_each_sandbox_has_a_user_of_its_own",
}
_IS_RESET: Final = f"{_FORCE}::test_a_session_is_reset_by_the_rule_of_its_chat"
_AT_ITS_HOUR: Final = f"{_FORCE}::test_the_daily_reset_is_at_its_hour_by_the_clock_of_the_people_it_serves"
_LOOPS_OF_ALL: Final = f"{_FORCE}::test_loops_are_looked_for_as_the_settings_of_all_agents_say"
_SEEN: Final = f"{_SESSIONS}::test_what_is_seen_is_settled_by_the_configuration"
_LISTED: Final = f"{_REGISTRY}::test_configured_models_extend_or_replace_the_built_in_ones"
_SEARCHES: Final = f"{_WEB_PARTS}::test_the_configuration_chooses_the_service"
_CACHE_PRICES: Final = f"{_SPENDING}::test_tokens_of_the_cache_are_kept_and_paid_at_their_own_prices"


_HEARTBEAT: Final = {
    "test_a_beat_is_a_job_that_every_worker_declares_alike": "every",
    "test_a_beat_is_skipped_with_a_recorded_reason": (
        "activeHours.start activeHours.end activeHours.timezone quietHours.start quietHours.end quietHours.timezone "
        "session"
    ),
    "test_an_alert_goes_where_the_block_says": "target to accountId prompt",
    "test_no_more_than_a_few_characters_count_as_nothing": "ackMaxChars",
    "test_a_beat_has_its_own_model_and_few_files": "model lightContext",
    "test_a_beat_without_history_sees_only_itself": "history",
    "test_beats_keep_their_distance": "minSpacing",
}


def _budget(path: str) -> dict[str, str]:
    return {
        **dict.fromkeys([f"{path}.tokens", f"{path}.cost", f"{path}.calls"], _OVER_BUDGET),
        f"{path}.seconds": f"{_SPENDING}::test_seconds_count_too",
    }


def _bot(path: str, connection: str) -> dict[str, str]:
    """How a Telegram bot is reached and what it shows; `connection` is the test that it is the configured one."""
    voice = f"{_TELEGRAM}/test_buttons_and_voice.py::test_a_voice_note_is_transcribed"
    webhook = f"{_TELEGRAM}/test_webhook.py"
    messages = f"{_TELEGRAM}/test_messages.py"
    return {
        f"{path}.enabled": (
            "tests/component/ingress/telegram/test_adapters.py::test_only_bots_that_are_on_and_have_a_token_start"
        ),
        f"{path}.botToken": connection,
        f"{path}.apiRoot": connection,
        f"{path}.webhook.url": f"{webhook}::test_an_update_is_confirmed_when_it_is_stored_and_makes_one_turn",
        f"{path}.webhook.secret": f"{webhook}::test_only_telegram_is_heard",
        f"{path}.edits": f"{messages}::test_an_edited_message_is_ignored_unless_the_setting_says_otherwise",
        f"{path}.mediaMaxMb": f"{messages}::test_a_file_that_is_too_large_or_gone_is_named_to_the_agent",
        f"{path}.transcribe.baseUrl": voice,
        f"{path}.transcribe.apiKey": voice,
        f"{path}.transcribe.model": voice,
        f"{path}.streaming": f"{_TELEGRAM}/test_activity.py::test_no_progress_is_shown_where_it_is_switched_off",
        f"{path}.richMessages": f"{messages}::test_rich_messages_and_the_menu_are_settings",
        f"{path}.commandMenu": f"{messages}::test_rich_messages_and_the_menu_are_settings",
    }


def _limits(path: str) -> dict[str, str]:
    return {
        f"{path}.requestsPerMinute": _LIMITS_OF_A_MINUTE,
        f"{path}.tokensPerMinute": _LIMITS_OF_A_MINUTE,
        f"{path}.concurrent": _LIMITS_AT_A_TIME,
    }


def _reset(path: str) -> dict[str, str]:
    return {f"{path}.mode": _IS_RESET, f"{path}.atHour": _AT_ITS_HOUR, f"{path}.idleMinutes": _IS_RESET}


def _place(path: str) -> dict[str, str]:
    """A group, or a topic of it."""
    return {
        f"{path}.enabled": f"{_ACCESS}::test_in_a_group_the_group_comes_first_and_then_the_sender",
        f"{path}.requireMention": f"{_GATE}::test_activation_is_by_the_group_unless_the_session_has_its_own",
        f"{path}.allowFrom": f"{_ACCESS}::test_in_a_group_the_group_comes_first_and_then_the_sender",
        f"{path}.agentId": f"{_GATE}::test_an_agent_is_chosen_by_topic_group_or_binding",
        f"{path}.historyLimit": f"{_ACCESS}::test_a_topic_and_a_group_inherit_what_they_leave_unset",
    }


def _access(path: str) -> dict[str, str]:
    return {
        f"{path}.owners": f"{_ACCESS}::test_owners_are_named_for_an_agent_a_channel_or_all",
        f"{path}.dmPolicy": f"{_ACCESS}::test_a_direct_message_is_heard_by_its_policy",
        f"{path}.allowFrom": f"{_ACCESS}::test_a_direct_message_is_heard_by_its_policy",
        f"{path}.groupPolicy": f"{_ACCESS}::test_in_a_group_the_group_comes_first_and_then_the_sender",
        f"{path}.groupAllowFrom": f"{_ACCESS}::test_in_a_group_the_group_comes_first_and_then_the_sender",
        **_place(f"{path}.groups.*"),
        **_policy(f"{path}.groups.*.tools"),
        **dict.fromkeys(_policy(f"{path}.groups.*.toolsBySender.*"), f"{_POLICY}::{_BY_SENDER}"),
        **_place(f"{path}.groups.*.topics.*"),
    }


def _loops(path: str) -> dict[str, str]:
    return {
        f"{path}.enabled": f"{_LOOPS}::test_it_can_be_switched_off",
        f"{path}.historySize": f"{_LOOPS}::test_only_the_latest_calls_count",
        f"{path}.warningThreshold": (
            f"{_LOOPS}::test_a_repeated_call_is_warned_about_now_and_then_and_blocked_by_the_breaker"
        ),
        f"{path}.criticalThreshold": f"{_LOOPS}::test_polling_that_shows_the_same_is_blocked_earlier",
        f"{path}.globalCircuitBreakerThreshold": _LOOPS_OF_ALL,
    }


_MEMORY_SEARCH: Final = {
    "enabled": f"{_MEMORY}::test_memory_can_be_switched_off",
    "sources": f"{_MEMORY}::test_a_search_follows_the_settings",
    "extraPaths": f"{_MEMORY}::test_a_search_follows_the_settings",
    "provider": f"{_MEMORY}::test_an_endpoint_embeds_in_batches_and_its_calls_are_recorded",
    "model": f"{_MEMORY}::test_an_endpoint_embeds_in_batches_and_its_calls_are_recorded",
    "chunking.tokens": f"{_MEMORY}::test_chunks_have_the_set_size_and_another_size_is_another_index",
    "chunking.overlap": f"{_MEMORY}::test_chunks_have_the_set_size_and_another_size_is_another_index",
    "query.maxResults": f"{_MEMORY}::test_a_search_follows_the_settings",
    "query.minScore": f"{_MEMORY}::test_a_search_follows_the_settings",
    "query.hybrid.enabled": f"{_MEMORY}::test_meaning_alone_if_words_are_switched_off",
    "query.hybrid.vectorWeight": f"{_MEMORY}::test_a_search_follows_the_settings",
    "query.hybrid.textWeight": f"{_MEMORY}::test_a_search_follows_the_settings",
    "query.hybrid.candidateMultiplier": f"{_MEMORY}::test_candidates_are_as_many_as_set",
    "query.hybrid.mmr.enabled": f"{_MEMORY}::test_age_and_repetition_count_if_set",
    "query.hybrid.mmr.lambda": f"{_MEMORY}::test_age_and_repetition_count_if_set",
    "query.hybrid.temporalDecay.enabled": f"{_MEMORY}::test_age_and_repetition_count_if_set",
    "query.hybrid.temporalDecay.halfLifeDays": f"{_MEMORY}::test_age_and_repetition_count_if_set",
    "sync.onSessionStart": f"{_MEMORY}::test_a_session_start_asks_for_a_sync_only_if_set",
    "sync.onSearch": f"{_MEMORY}::test_files_are_indexed_on_search_only_if_set",
    "sync.watch": f"{_MEMORY}::test_changes_are_noticed_as_set",
    "sync.watchDebounceMs": f"{_MEMORY}::test_changes_are_noticed_as_set",
    "sync.intervalMinutes": f"{_MEMORY}::test_changes_are_noticed_as_set",
    "sessions.groups": f"{_MEMORY}::test_transcripts_are_indexed_as_set",
    "sessions.subagents": f"{_MEMORY}::test_transcripts_are_indexed_as_set",
    "sessions.deltaBytes": f"{_MEMORY}::test_transcripts_are_indexed_as_set",
    "sessions.deltaMessages": f"{_MEMORY}::test_transcripts_are_indexed_as_set",
    "cache.enabled": f"{_MEMORY}::test_what_was_embedded_before_is_not_embedded_again",
    "cache.maxEntries": f"{_MEMORY}::test_what_was_embedded_before_is_not_embedded_again",
}


def _exec(path: str) -> dict[str, str]:
    return {
        f"{path}.timeoutSec": f"{_FORCE}::test_a_command_that_names_no_time_has_the_configured_one",
        f"{path}.security": f"{_EXEC_RULES}::test_security_and_ask_decide",
        f"{path}.ask": f"{_EXEC_RULES}::test_security_and_ask_decide",
        f"{path}.askFallback": f"{_APPROVALS}::test_if_nobody_answers_in_time_the_fallback_holds",
        f"{path}.allowlist": f"{_APPROVALS}::test_listed_commands_run_without_asking",
        f"{path}.approvalTimeout": f"{_APPROVALS}::test_the_time_to_wait_is_configured_and_is_not_time_of_the_turn",
        f"{path}.approvalFor": f"{_APPROVALS}::test_allow_for_a_time_allows_exactly_this_operation",
    }


def _policy(path: str, *, lists_only: bool = False) -> dict[str, str]:
    layers, also = (
        f"{_POLICY}::test_each_layer_removes_what_it_names",
        f"{_POLICY}::test_also_allow_adds_to_the_profile",
    )
    lists = {f"{path}.allow": layers, f"{path}.deny": layers}
    return lists if lists_only else {**lists, f"{path}.profile": layers, f"{path}.alsoAllow": also}


_AGENT: Final = {
    **{f"memorySearch.{path}": test for path, test in _MEMORY_SEARCH.items()},
    "model.primary": f"{_KEYS}::test_without_an_order_keys_are_used_in_turn",
    "model.fallbacks": f"{_FAILOVER}::test_each_failure_has_its_decision",
    "identity.ownerNumbers": f"{_GATE}::test_an_agents_owner_is_one_for_that_agent",
    "workspace.path": f"{_FORCE}::test_an_agent_works_in_the_directory_that_is_set",
    "workspace.place": "tests/component/engine/test_places.py::test_an_agent_with_place_any_runs_on_every_host",
    "thinkingDefault": "tests/component/engine/test_recreated_sessions.py"
    "::test_a_refused_thinking_level_is_an_attempt_and_in_the_ledger",
    "contextTokens": f"{_FORCE}::test_an_agent_may_see_less_than_its_model_can",
    "timeoutSeconds": "tests/integration/test_queue_modes.py::test_a_turn_past_its_deadline_ends_as_timed_out",
    "userTimezone": _AT_ITS_HOUR,
    "promptMode": f"{_PROMPT}::test_how_much_is_in_the_prompt_can_be_set",
    "bootstrapMaxChars": _IN_PROMPT,
    "bootstrapTotalMaxChars": f"{_FORCE}::test_files_of_the_workspace_share_one_limit",
    "extraSystemPrompt": f"{_PROMPT}::test_what_the_configuration_and_a_message_add_is_said_in_that_order",
    "skills": f"{_SKILL_TURNS}::test_bundled_skills_are_offered_and_an_agent_may_name_those_it_wants",
    **_loops("tools.loopDetection"),
    **_policy("tools"),
    **_policy("tools.byProvider.*"),
    **_policy("tools.sandbox.tools", lists_only=True),
    **_exec("tools.exec"),
    "tools.elevated.enabled": f"{_SANDBOXED}::test_an_agent_can_only_take_elevated_commands_away",
    "tools.elevated.allowFrom": f"{_SANDBOXED}::test_an_agent_can_only_take_elevated_commands_away",
    **_BACKGROUND,
    "compaction.mode": f"{_COMPACTION}::test_a_conversation_is_compacted_above_the_trigger",
    "compaction.reserveTokens": f"{_COMPACTION}::test_a_conversation_is_compacted_above_the_trigger",
    "compaction.keepRecentTokens": f"{_COMPACTION}::test_the_older_part_is_replaced_by_its_summary",
    "compaction.maxHistoryShare": f"{_COMPACTION}::test_safeguard_drops_halves_as_the_article_has_it",
    "compaction.reserveTokensFloor": f"{_COMPACTION}::test_a_conversation_is_compacted_above_the_trigger",
    "compaction.identifierPolicy": f"{_IDENTIFIERS}::test_the_policy_decides_the_instructions",
    "compaction.identifierInstructions": f"{_IDENTIFIERS}::test_the_policy_decides_the_instructions",
    "compaction.memoryFlush.enabled": (f"{_FLUSH}::test_it_is_never_due_without_a_writing_tool_or_when_disabled"),
    "compaction.memoryFlush.softThresholdTokens": f"{_FLUSH}::test_it_is_due_shortly_before_the_compaction",
    "compaction.memoryFlush.forceFlushTranscriptBytes": (
        f"{_ASIDE}::test_notes_are_saved_once_a_cycle_and_nobody_is_shown"
    ),
    "compaction.memoryFlush.prompt": f"{_FLUSH}::test_a_configured_prompt_is_used_and_made_silent",
    "compaction.memoryFlush.systemPrompt": f"{_FLUSH}::test_the_system_prompt_is_extended",
    "contextPruning.mode": f"{_PRUNING}::test_protected_results_are_unchanged",
    "contextPruning.ttl": f"{_PRUNING}::test_below_the_compaction_trigger_only_results_older_than_the_ttl_are_trimmed",
    "contextPruning.keepLastAssistants": f"{_PRUNING}::test_protected_results_are_unchanged",
    "contextPruning.softTrimRatio": f"{_PRUNING}::test_the_ratios_decide_when_results_are_trimmed_and_cleared",
    "contextPruning.hardClearRatio": f"{_PRUNING}::test_the_ratios_decide_when_results_are_trimmed_and_cleared",
    "contextPruning.minPrunableToolChars": f"{_PRUNING}::test_protected_results_are_unchanged",
    "contextPruning.tools.allow": f"{_PRUNING}::test_protected_results_are_unchanged",
    "contextPruning.tools.deny": f"{_PRUNING}::test_protected_results_are_unchanged",
    "contextPruning.softTrim.maxChars": f"{_PRUNING}::test_trimming_and_clearing_follow_the_settings",
    "contextPruning.softTrim.headChars": f"{_PRUNING}::test_trimming_and_clearing_follow_the_settings",
    "contextPruning.softTrim.tailChars": f"{_PRUNING}::test_trimming_and_clearing_follow_the_settings",
    "contextPruning.hardClear.enabled": f"{_PRUNING}::test_trimming_and_clearing_follow_the_settings",
    "contextPruning.hardClear.placeholder": f"{_PRUNING}::test_trimming_and_clearing_follow_the_settings",
    "subagents.maxSpawnDepth": f"{_SPAWN}::test_max_spawn_depth_1_forbids_nesting",
    "subagents.maxChildrenPerAgent": f"{_SPAWN}::test_max_children_counts_those_at_work_and_not_those_done",
    "subagents.maxTreeRuns": f"{_SPAWN}::test_max_tree_runs_counts_the_whole_tree",
    "subagents.maxConcurrent": f"{_SPAWN_CHOICES}::test_max_concurrent_caps_the_lane",
    "subagents.archiveAfterMinutes": f"{_CHILD_CLEANUP}::test_archive_after_0_minutes_means_never",
    "subagents.runTimeoutSeconds": f"{_SPAWN_CHOICES}::test_the_timeout_of_children_by_configuration_and_by_call",
    "subagents.announceTimeoutMs": (
        "tests/component/engine/test_blocked_announces.py::test_one_try_takes_no_longer_than_announce_timeout"
    ),
    "subagents.model.primary": f"{_SPAWN_CHOICES}::test_model_and_thinking_of_children_by_configuration",
    "subagents.model.fallbacks": f"{_SPAWN_CHOICES}::test_children_have_the_fallbacks_that_are_configured_for_them",
    "subagents.thinking": f"{_SPAWN_CHOICES}::test_model_and_thinking_of_children_by_configuration",
    "subagents.projectFiles": f"{_PROMPT}::test_a_sub_agent_gets_the_files_of_its_workspace_only_by_setting",
    "subagents.allowAgents": f"{_SPAWN_CHOICES}::test_another_agent_does_it_where_that_is_allowed",
    "subagents.requireAgentId": f"{_SPAWN}::test_each_check_has_its_word_and_a_message_to_act_on",
    **_budget("budget"),
    "sandbox.sessionToolsVisibility": _SEEN,
    **_SANDBOX,
    "identity.name": _IN_PROMPT,
    "identity.emoji": _IN_PROMPT,
    "identity.theme": _IN_PROMPT,
    "identity.avatar": _IN_PROMPT,
}

EFFECTS: Final = {
    **{f"agents.*.{path}": test for path, test in _AGENT.items()},
    "agents.defaultAgent": f"{_RESOLVE}::test_profiles_are_agents_like_those_of_the_list",
    "agents.defaults.models.*.alias": _IN_PROMPT,
    "agents.list.*.id": f"{_RESOLVE}::test_the_five_steps_of_choosing_an_agent",
    "agents.list.*.default": f"{_RESOLVE}::test_the_five_steps_of_choosing_an_agent",
    "agents.list.*.name": f"{_FORCE}::test_an_agents_prompt_has_the_name_it_was_given",
    "agents.profiles.*.name": f"{_FORCE}::test_an_agents_prompt_has_the_name_it_was_given",
    "agents.list.*.authDir": "tests/component/engine/test_auth_profiles.py::test_the_file_may_be_elsewhere",
    "agents.profiles.*.authDir": "tests/component/engine/test_auth_profiles.py::test_the_file_may_be_elsewhere",
    "session.scope": _ADDRESS,
    "session.mainKey": _ADDRESS,
    "session.dmScope": _ADDRESS,
    "session.identityLinks": _ADDRESS,
    **_reset("session.reset"),
    **_reset("session.resetByType.dm"),
    **_reset("session.resetByType.group"),
    **_reset("session.resetByType.thread"),
    **_reset("session.resetByChannel.*"),
    "session.resetTriggers": (
        "tests/component/engine/test_turn_runner.py::test_a_word_of_ones_own_begins_a_new_session_and_the_usual_ones_no_longer_do"
    ),
    "session.sendPolicy.rules.*.action": f"{_CHATS}::test_a_denied_reply_is_recorded_as_suppressed",
    "session.sendPolicy.rules.*.match.channel": f"{_CHATS}::test_a_denied_reply_is_recorded_as_suppressed",
    "session.sendPolicy.rules.*.match.chatType": f"{_SEND_POLICY}::test_rules",
    "session.sendPolicy.rules.*.match.keyPrefix": f"{_SEND_POLICY}::test_rules",
    "session.sendPolicy.rules.*.match.rawKeyPrefix": f"{_SEND_POLICY}::test_rules",
    "session.sendPolicy.default": f"{_SEND_POLICY}::test_rules",
    "session.agentToAgent.maxPingPongTurns": (
        "tests/component/engine/test_sessions_send.py::test_turns_are_limited_and_then_the_chat_of_the_other_one_may_hear"
    ),
    **{
        f"session.maintenance.{name}": f"{_MAINTENANCE}::{test}"
        for name, test in {
            "mode": "test_nothing_is_removed_unless_the_block_is_written",
            "pruneAfter": "test_unused_sessions_are_removed_and_saved_first",
            "maxEntries": "test_surplus_sessions_are_removed_but_no_direct_chats_and_no_pointers",
            "resetArchiveRetention": "test_archives_are_kept_as_long_as_set",
        }.items()
    },
    "messages.queue.mode": f"{_ACCEPT}::test_mode_and_debounce_are_by_channel_before_the_default",
    "messages.queue.byChannel": f"{_ACCEPT}::test_mode_and_debounce_are_by_channel_before_the_default",
    "messages.queue.debounceMs": f"{_ACCEPT}::test_mode_and_debounce_are_by_channel_before_the_default",
    "messages.queue.debounceMsByChannel": f"{_ACCEPT}::test_mode_and_debounce_are_by_channel_before_the_default",
    "messages.groupChat.mentionPatterns": f"{_GATE}::test_in_a_group_the_bot_answers_when_it_is_asked",
    "messages.groupChat.historyLimit": f"{_ACCESS}::test_a_topic_and_a_group_inherit_what_they_leave_unset",
    "messages.queue.cap": f"{_ACCEPT}::test_at_the_cap_messages_give_way_as_the_settings_say",
    "messages.queue.drop": f"{_ACCEPT}::test_at_the_cap_messages_give_way_as_the_settings_say",
    **{
        f"agents.*.heartbeat.{name}": f"{_BEATS}::{test}"
        for test, names in _HEARTBEAT.items()
        for name in names.split()
    },
    "cron.enabled": f"{_JOBS}::test_switched_off_nothing_fires",
    "cron.maxConcurrent": f"{_JOBS}::test_an_isolated_job_runs_in_a_session_of_its_own_under_its_own_cap",
    "cron.sessionRetention": f"{_JOBS}::test_an_isolated_job_runs_in_a_session_of_its_own_under_its_own_cap",
    "cron.webhooks.allow": f"{_JOB_DELIVERY}::test_only_allowed_addresses_are_webhooks",
    "cron.webhooks.token": f"{_WEBHOOK_ADAPTER}::test_an_answer_is_posted_once_with_its_key_and_token",
    "cron.runLogEntries": f"{_JOBS}::test_the_sweep_fires_what_is_due_and_keeps_a_bounded_log",
    **dict.fromkeys(
        (f"cron.jobs.*.{field.alias}" for field in JobDraft.model_fields.values()),
        f"{_JOBS}::test_every_field_of_a_declared_job_is_stored",
    ),
    "lanes.main.concurrency": f"{_WORKER}::test_a_worker_carries_as_many_as_its_lane_is_set_to",
    "lanes.main.maxConcurrent": "tests/faults/test_lanes.py::test_a_lane_cap_is_never_exceeded_by_three_workers",
    "lanes.subagent.concurrency": f"{_WORKER}::test_a_worker_carries_as_many_as_its_lane_is_set_to",
    "lanes.subagent.niceness": f"{_WORKER}::test_workers_of_sub_agents_give_way_as_much_as_is_set",
    "lanes.subagent.maxConcurrent": f"{_SPAWN_CHOICES}::test_max_concurrent_caps_the_lane",
    "lanes.service.concurrency": f"{_WORKER}::test_a_worker_carries_as_many_as_its_lane_is_set_to",
    "engine.leaseSeconds": f"{_FORCE}::test_a_lease_lasts_as_long_as_it_is_set_to",
    "engine.maxAttempts": "tests/component/engine/test_sweep.py::test_calls_of_a_turn_that_is_given_up_are_closed",
    "engine.graceSeconds": (
        "tests/faults/test_rolling.py::test_a_model_call_longer_than_the_grace_is_abandoned_and_repeated_elsewhere"
    ),
    "engine.sweepSeconds": f"{_WORKER}::test_a_worker_looks_for_what_is_due_as_often_as_it_is_set_to",
    "engine.acceptTimeoutSeconds": (
        f"{_ACCEPT}::test_who_waits_for_a_silent_redis_learns_of_it_after_the_time_that_is_set"
    ),
    "engine.namespace": f"{_FORCE}::test_two_installations_share_one_redis_under_two_names",
    "engine.taskEvents": f"{_CELERY}::test_task_events_are_sent_only_where_they_are_wanted",
    "engine.hookTimeoutSeconds": f"{_HOOKS}::test_a_hook_has_so_much_time_as_is_set",
    "engine.hookFailure": f"{_HOOKS}::test_a_hook_that_fails_blocks_unless_the_setting_lets_it_pass",
    "engine.maxSteps": f"{_TURN}::test_a_turn_that_fails_says_why_and_leaves_a_valid_transcript",
    "engine.toolTimeoutSeconds": f"{_FORCE}::test_a_command_that_names_no_time_has_the_configured_one",
    **_policy("tools"),
    **_policy("tools.byProvider.*"),
    **_policy("tools.sandbox.tools", lists_only=True),
    **_policy("tools.subagents.tools", lists_only=True),
    **_policy("tools.nonOwners", lists_only=True),
    **_loops("tools.loopDetection"),
    **_exec("tools.exec"),
    **_BACKGROUND,
    "tools.elevated.enabled": f"{_SANDBOXED}::test_owners_can_let_commands_run_on_the_host_where_that_is_allowed",
    "tools.elevated.allowFrom": f"{_SANDBOXED}::test_elevated_is_off_unless_it_is_configured",
    "tools.agentToAgent.enabled": _SEEN,
    "tools.agentToAgent.allow.*.from": _SEEN,
    "tools.agentToAgent.allow.*.to": _SEEN,
    "tools.sessions.visibility": _SEEN,
    "tools.web.fetch.enabled": f"{_FORCE}::test_web_tools_can_be_taken_from_all_agents",
    "tools.web.fetch.maxChars": f"{_WEB_FETCH}::test_max_chars_limits_every_call",
    "tools.web.fetch.maxResponseBytes": f"{_WEB_FETCH}::test_max_response_bytes_limits_what_is_downloaded",
    "tools.web.fetch.timeoutSeconds": f"{_WEB_FETCH}::test_a_slow_page_ends_after_the_time_that_is_set",
    "tools.web.fetch.maxRedirects": f"{_WEB_FETCH}::test_redirects_are_followed_up_to_the_limit",
    "tools.web.fetch.cacheTtlMinutes": f"{_WEB_FETCH}::test_a_page_is_kept_for_a_while",
    "tools.web.fetch.userAgent": f"{_WEB_FETCH}::test_the_user_agent_is_the_configured_one",
    "tools.web.search.enabled": f"{_FORCE}::test_web_tools_can_be_taken_from_all_agents",
    "tools.web.search.provider": _SEARCHES,
    "tools.web.search.apiKey": _SEARCHES,
    "tools.web.search.brave.apiKey": _SEARCHES,
    "tools.web.search.tavily.apiKey": _SEARCHES,
    "tools.web.search.searxng.baseUrl": _SEARCHES,
    "tools.web.search.maxResults": f"{_WEB_SEARCH}::test_the_number_of_results_is_configured",
    "tools.web.search.timeoutSeconds": f"{_WEB_SEARCH}::test_a_slow_service_ends_after_the_time_that_is_set",
    "tools.web.search.cacheTtlMinutes": f"{_WEB_SEARCH}::test_results_are_kept_for_a_while",
    "models.mode": _LISTED,
    "plugins.enabled": _PLUGINS_DENIED,
    "plugins.deny": _PLUGINS_DENIED,
    "plugins.modules": _PLUGIN_MODULES,
    "plugins.paths": _PLUGIN_MODULES,
    "plugins.timeoutSeconds": (
        f"{_PLUGINS}::test_a_call_ends_when_its_time_is_up_and_no_more_are_started_than_can_be_borne"
    ),
    "plugins.maxOutput": f"{_PLUGINS}::test_answers_are_limited_by_the_tool_or_by_the_configuration",
    "mcp.startWaitSeconds": f"{_MCP}::test_a_turn_does_not_wait_for_a_server_that_is_slow_to_start",
    "mcp.servers.*.enabled": _MCP_TOOLS,
    "mcp.servers.*.command": _MCP_TOOLS,
    "mcp.servers.*.args": _MCP_TOOLS,
    "mcp.servers.*.env": _MCP_ENVIRONMENT,
    "mcp.servers.*.cwd": _MCP_ENVIRONMENT,
    "mcp.servers.*.url": _MCP_HTTP,
    "mcp.servers.*.headers": _MCP_HTTP,
    "mcp.servers.*.startTimeoutSeconds": f"{_MCP}::test_a_server_that_does_not_start_in_time_is_given_up_for_now",
    "mcp.servers.*.timeoutSeconds": f"{_MCP}::test_a_server_that_hangs_costs_one_call_and_is_started_again",
    "mcp.servers.*.maxOutput": f"{_MCP}::test_long_answers_are_cut",
    "mcp.servers.*.maxMessage": f"{_MCP}::test_a_server_that_floods_is_started_again",
    "mcp.servers.*.maxConcurrent": f"{_MCP}::test_calls_above_the_limit_wait_for_their_turn",
    "mcp.servers.*.maxTools": f"{_MCP}::test_no_more_tools_are_used_than_the_limit",
    "models.providers.*.baseUrl": f"{_CHAT}::test_headers_of_the_provider_and_of_the_model_are_sent",
    "models.providers.*.api": "tests/component/providers/test_conformance.py::test_every_status_has_its_reason",
    "models.providers.*.apiKey": f"{_REGISTRY}::test_a_key_alone_makes_a_provider_ready",
    "models.providers.*.headers": f"{_CHAT}::test_headers_of_the_provider_and_of_the_model_are_sent",
    **_limits("models.providers.*.limits"),
    "models.providers.*.authProfiles.*.id": f"{_REGISTRY}::test_profiles_come_in_their_order_and_the_single_key_last",
    "models.providers.*.authProfiles.*.apiKey": f"{_KEYS}::test_without_an_order_keys_are_used_in_turn",
    **_limits("models.providers.*.authProfiles.*.limits"),
    "models.providers.*.authOrder": f"{_KEYS}::test_with_an_order_the_first_is_used_while_it_may_be",
    "models.providers.*.models.*.id": _LISTED,
    "models.providers.*.models.*.name": (
        "tests/component/engine/test_commands_models.py::test_the_list_has_the_names_that_people_know_models_by"
    ),
    "models.providers.*.models.*.api": _LISTED,
    "models.providers.*.models.*.reasoning": f"{_LEVELS}::test_each_level_has_its_parameters",
    "models.providers.*.models.*.input": (
        "tests/component/engine/test_attachments.py"
        "::test_images_and_pdfs_are_sent_to_models_that_take_them_and_named_to_others"
    ),
    "models.providers.*.models.*.cost.input": f"{_SPENDING}::test_a_turn_over_budget_ends_with_a_clear_answer",
    "models.providers.*.models.*.cost.output": f"{_SPENDING}::test_a_turn_over_budget_ends_with_a_clear_answer",
    "models.providers.*.models.*.cost.cacheRead": _CACHE_PRICES,
    "models.providers.*.models.*.cost.cacheWrite": _CACHE_PRICES,
    "models.providers.*.models.*.contextWindow": (
        "tests/component/engine/test_smaller_fallback.py::test_what_the_fallback_is_sent_fits_into_its_own_window"
    ),
    "models.providers.*.models.*.maxTokens": f"{_CHAT}::test_a_configured_address_gets_the_limit_by_its_old_name",
    "models.providers.*.models.*.headers": f"{_CHAT}::test_headers_of_the_provider_and_of_the_model_are_sent",
    **_limits("models.providers.*.models.*.limits"),
    "models.cli.*.command": f"{_CLI}::test_plain_text_is_the_answer",
    "models.cli.*.resumeArgs": f"{_CLI}::test_a_resumed_session_gets_only_the_new_messages",
    "models.cli.*.input": f"{_CLI}::test_the_prompt_is_on_standard_input_only_if_configured",
    "models.cli.*.output": f"{_CLI}::test_json_lines_give_text_session_and_usage",
    "models.cli.*.textField": f"{_CLI}::test_json_lines_give_text_session_and_usage",
    "models.cli.*.sessionField": f"{_CLI}::test_the_session_id_is_read_from_the_configured_field",
    "models.cli.*.env": f"{_CLI}::test_a_program_gets_its_own_variables_and_not_the_workers",
    "models.cli.*.timeoutSeconds": f"{_CLI}::test_time_and_output_are_limited",
    "models.cli.*.maxOutputBytes": f"{_CLI}::test_time_and_output_are_limited",
    "models.cli.*.contextWindow": f"{_REGISTRY}::test_configured_programs_make_a_provider",
    "models.cooldownScope": f"{_KEYS}::test_with_scope_model_other_models_of_the_key_go_on",
    "models.aliases": "tests/component/engine/test_commands_models.py::test_a_model_is_chosen_by_name_or_alias",
    "bindings.*.agentId": f"{_GATE}::test_an_agent_is_chosen_by_topic_group_or_binding",
    **dict.fromkeys(
        [f"bindings.*.match.{each}" for each in ("channel", "accountId", "peer.kind", "peer.id")],
        f"{_BINDINGS}::test_every_condition_must_hold",
    ),
    "commands.allowFrom": f"{_GATE}::test_commands_are_for_those_who_are_listed",
    "commands.ownerAllowFrom": f"{_GATE}::test_commands_are_for_those_who_are_listed",
    **_access("channels.telegram"),
    **dict.fromkeys(
        _access("channels.telegram.accounts.*"),
        f"{_ACCESS}::test_an_account_has_its_own_rules_where_it_writes_them",
    ),
    **_budget("budgets.day"),
    **_budget("budgets.tree"),
    "memory.citations": f"{_MEMORY_TURNS}::test_sources_are_named_as_set",
    "memory.inGroupPrompts": f"{_MEMORY_TURNS}::test_personal_files_are_in_prompts_of_groups_only_if_set",
    "memory.sessionNotes": f"{_MEMORY_TURNS}::test_no_notes_where_they_are_switched_off",
    "skills.allowBundled": f"{_SKILL_TURNS}::test_settings_of_skills_reach_the_prompt",
    "skills.load.extraDirs": f"{_SKILL_TURNS}::test_settings_of_skills_reach_the_prompt",
    "skills.load.watch": f"{_SKILLS}::test_skills_are_loaded_once_where_watching_is_off",
    "skills.load.watchDebounceMs": f"{_SKILLS}::test_a_directory_is_looked_at_no_more_often_than_set",
    **dict.fromkeys(
        (
            "skills.limits.maxCandidatesPerRoot",
            "skills.limits.maxSkillsLoadedPerSource",
            "skills.limits.maxSkillFileBytes",
        ),
        f"{_SKILLS}::test_limits_of_files_and_directories_hold_and_are_said",
    ),
    "skills.limits.maxSkillsInPrompt": f"{_SKILL_LIST}::test_no_more_skills_are_listed_than_set",
    "skills.limits.maxSkillsPromptChars": f"{_SKILL_LIST}::test_the_list_is_no_longer_than_set",
    "skills.entries.*.enabled": f"{_SKILL_TURNS}::test_settings_of_skills_reach_the_prompt",
    "skills.entries.*.config": f"{_SKILL_TURNS}::test_settings_of_skills_reach_the_prompt",
    **dict.fromkeys(
        ("skills.entries.*.apiKey", "skills.entries.*.env"),
        f"{_SKILL_TURNS}::test_variables_of_a_skill_are_given_to_commands_of_its_agent_alone",
    ),
    "qdrant.url": f"{_MEMORY}::test_a_server_is_used_with_its_key",
    "qdrant.apiKey": f"{_MEMORY}::test_a_server_is_used_with_its_key",
    **_bot("channels.telegram", f"{_TELEGRAM}/test_messages.py::test_a_message_is_answered_once"),
    **_bot("channels.telegram.accounts.*", f"{_TELEGRAM}/test_messages.py::test_several_bots_have_their_own_people"),
    "gateway.bind": f"{_BINDING}::test_it_listens_at_the_configured_address",
    "gateway.port": f"{_INGRESS}/test_up.py::test_a_port_in_use_is_given_way_to_and_a_configured_one_is_not",
    "gateway.auth": f"{_INGRESS}/test_auth.py::test_without_authentication_everybody_on_this_machine_is_the_owner",
    "gateway.allowedHosts": f"{_HOSTILE}::test_only_our_own_host_names_are_served",
    "gateway.allowedOrigins": f"{_HOSTILE}::test_an_allowed_origin_may_call_with_a_token_but_not_with_a_cookie",
    "gateway.limits.body": f"{_HOSTILE}::test_a_body_that_is_too_large_is_refused_before_it_is_read",
    "gateway.limits.requestsPerMinute": f"{_INGRESS}/test_auth.py::test_a_token_may_make_so_many_requests_a_minute",
    "gateway.limits.connections": f"{_HOSTILE}::test_too_many_connections_are_turned_away_and_then_served_again",
    "gateway.limits.idleSeconds": f"{_HOSTILE}::test_a_client_that_sends_its_head_slowly_is_cut_off",
    "hooks.enabled": f"{_HOOK_ACTIONS}::test_hooks_are_served_only_if_they_are_enabled_and_where_they_are_configured",
    "hooks.path": f"{_HOOK_ACTIONS}::test_hooks_are_served_only_if_they_are_enabled_and_where_they_are_configured",
    "hooks.token": f"{_WEBHOOKS}::test_the_token_of_the_gateway_opens_no_webhook_and_guessing_locks_out",
    "hooks.maxBody": f"{_WEBHOOKS}::test_what_cannot_be_used_is_refused",
    "hooks.mappings.*.match.path": f"{_HOOK_SESSIONS}::test_the_first_mapping_that_matches_counts",
    "hooks.mappings.*.match.source": f"{_HOOK_SESSIONS}::test_the_first_mapping_that_matches_counts",
    **dict.fromkeys(
        (f"hooks.mappings.*.{name}" for name in ("action", "textTemplate", "wakeMode")),
        f"{_HOOK_SESSIONS}::test_a_mapping_makes_a_turn_or_an_event_of_a_payload",
    ),
    **dict.fromkeys(
        (
            f"hooks.mappings.*.{name}"
            for name in ("name", "messageTemplate", "agentId", "sessionKey", "channel", "to", "accountId", "model")
            + ("thinking", "timeoutSeconds")
        ),
        f"{_HOOK_ACTIONS}::test_every_field_of_a_mapping_reaches_the_turn",
    ),
    "hooks.mappings.*.deliver": (
        f"{_HOOK_ACTIONS}::test_an_answer_is_delivered_where_the_main_session_was_spoken_to_unless_it_is_not_wanted"
    ),
    "hooks.allowedAgentIds": f"{_HOOK_SESSIONS}::test_agents_are_limited_to_the_allowed_ones",
    "hooks.defaultSessionKey": (f"{_HOOK_SESSIONS}::test_the_default_session_is_used_unless_the_request_wants_its_own"),
    "hooks.allowRequestSessionKey": (f"{_HOOK_SESSIONS}::test_a_request_names_its_session_only_if_it_is_allowed_to"),
    "hooks.allowedSessionKeyPrefixes": f"{_HOOK_SESSIONS}::test_prefixes_limit_what_a_request_may_name",
    "metrics.port": f"{_METRICS}::test_nothing_listens_without_a_port_and_the_address_is_as_set",
    "metrics.bind": f"{_METRICS}::test_nothing_listens_without_a_port_and_the_address_is_as_set",
    "secrets.*.value": f"{_TOOL_SECRETS}::test_a_named_tool_gets_the_secret_and_nobody_sees_it",
    "secrets.*.tools": f"{_TOOL_SECRETS}::test_other_tools_and_unnamed_secrets_get_nothing",
    "redis.url": (
        "tests/unit/test_state_dir.py::test_the_address_comes_from_the_environment_then_the_file_then_the_running_up"
    ),
}
"""Path to `file::test`."""
