package configs

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// noCounterpart is the hint on a key for which there is nothing like it here.
const noCounterpart = "it has no counterpart"

// The topics of MassGen's keys.
const (
	sandboxTopic  topic = "commands run behind the kernel's fence, without the network, which is tighter than MassGen's container or sandbox; images, packages, credentials and sudo do not exist here"
	mediaTopic    topic = "the tools that look at or make pictures, sound and video are not here; ask with --attach, or use an MCP server that has such tools"
	customTopic   topic = "functions in Python are not looked for in a folder; list their files in custom_tools"
	codeTopic     topic = "agents call tools directly here, and not from code"
	skillsTopic   topic = "skills are not read here; put what they say into the agents' system_message"
	subagentTopic topic = "agents start no other agents here"
	criteriaTopic topic = "answers are judged by votes here, not by criteria or an evaluator"
	talkTopic     topic = "agents put no questions to each other or to a person here; /note adds to the question while a turn runs"
	planRunTopic  topic = "there is no planning phase before the question here"
	nlipTopic     topic = "messages in NLIP are not read here"
)

func topMassGenKeys() []massgenKeys {
	return []massgenKeys{
		{fate: accepted, names: "logging display"},
		{fate: warned, names: "filesystem_memory"},
		{fate: warned, names: "task", hint: "put the question on the command line"},
		{fate: warned, names: "timeout", hint: "use timeout_settings"},
		{fate: warned, names: "nlip enable_nlip nlip_config", topic: nlipTopic},
		{fate: refused, names: "hooks", hint: hooksCure},
		{fate: refused, names: "checkpoint", hint: "leave it out, and use permissions: for the tools that it gates", harmless: gatesNothing},
		{fate: refused, names: "models model_configs num_agents consensus_threshold voting_enabled enable_voting", because: "is a key of MassGen's first version, which its later versions refuse too", hint: "write agents:"},
	}
}

const hooksCure = "use rules in permissions: for what the hooks refuse"

// gatesNothing reports whether a checkpoint asks about no tools.
func gatesNothing(n *yaml.Node) bool {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "gated_patterns" {
			return isOff(n.Content[i+1])
		}
	}
	return true
}

func agentMassGenKeys() []massgenKeys {
	return []massgenKeys{
		{fate: warned, names: "subtask main_agent", hint: noCounterpart},
		{fate: warned, names: "subagent_agents", topic: subagentTopic},
		{fate: warned, names: "nlip enable_nlip nlip_config", topic: nlipTopic},
		{fate: warned, names: "append_system_prompt", hint: "use system_message"},
		{fate: warned, names: "memory", hint: "use memory at the top level"},
	}
}

func backendMassGenKeys() []massgenKeys {
	return []massgenKeys{
		// MassGen sets these itself, or they change how it works inside.
		{fate: accepted, names: `agent_temporary_workspace_parent context_write_access_enabled use_two_tier_workspace session_id
			filesystem_session_id session_storage_base instance_id agent_id use_mcpwrapped_for_tool_filtering use_no_roots_wrapper
			concurrent_tool_execution max_concurrent_tools websocket_mode enable_tool_search tool_search_variant
			debug_delay_seconds debug_delay_after_n_tools use_default_prompt max_mcp_message_history
			gemini_backoff_max_attempts gemini_backoff_initial_delay gemini_backoff_max_delay gemini_backoff_multiplier gemini_backoff_jitter
			max_incomplete_response_retries drift_conflict_policy disable_final_only_round_capture_fallback
			fairness_enabled fairness_lead_cap_answers voting_sensitivity voting_threshold max_midstream_injections_per_round defer_peer_updates_until_restart
			allow_midstream_peer_updates_before_checklist_submit max_checklist_calls_per_round checklist_first_answer`},
		// Programs of others take these; a backend with such a program causes its own warning.
		{fate: accepted, names: `copilot_system_message_mode copilot_permission_policy system_message_mode permission_policy approval_mode
			setting_sources enable_interrupt_resume interrupt_poll_seconds max_interrupts_per_turn session_send_timeout_seconds
			skip_health_check disable_auto_update reset_chat working_dir`},
		{fate: warned, names: "max_thinking_tokens", hint: "use reasoning: {budget_tokens: …}"},
		{fate: warned, names: "model_reasoning_effort", hint: "use reasoning_effort"},
		{fate: refused, names: "disallowed_tools", hint: "use exclude_tools with the names of the tools here"},
		{fate: refused, names: "permission_mode", hint: "use permissions: at the top level", harmless: isOneOfWords("bypassPermissions", "acceptEdits")},
		{fate: refused, names: "hooks", hint: hooksCure},
		{fate: refused, names: "enforce_read_before_delete", hint: "use a rule in permissions:, such as {action: ask, tool: delete_file}"},
		{fate: warned, names: "write_mode", hint: "agents write into folders of their own, and only the winner writes into a context path", harmless: isOneOfWords("legacy")},
		{fate: warned, names: "upload_files", hint: "ask with --attach"},
		{fate: warned, names: `enable_image_generation enable_audio_generation enable_video_generation enable_file_generation enable_multimodal_tools`, topic: mediaTopic},
		{fate: warned, names: `multimodal_config media_max_file_size_mb image_generation_backend image_generation_model video_generation_backend
			video_generation_model audio_generation_backend audio_generation_model`, topic: mediaTopic, follows: true},
		{fate: warned, names: "custom_tools_path auto_discover_custom_tools", topic: customTopic},
		{fate: warned, names: "exclude_custom_tools", hint: "leave the functions out of custom_tools"},
		{fate: warned, names: "enable_code_based_tools enable_programmatic_flow", topic: codeTopic},
		{fate: warned, names: "direct_mcp_servers shared_tools_directory", topic: codeTopic, follows: true},
		{fate: warned, names: "command_line_execution_mode", topic: sandboxTopic, harmless: isOneOfWords("local")},
		{fate: warned, names: `command_line_docker_image command_line_docker_memory_limit command_line_docker_cpu_limit
			command_line_docker_network_mode command_line_docker_enable_sudo command_line_docker_credentials command_line_docker_packages
			command_line_srt_network_allowed_domains command_line_srt_deny_read command_line_srt_allow_unix_sockets
			command_line_srt_read_mode command_line_srt_allow_read`, topic: sandboxTopic, follows: true},
		{fate: warned, names: "enable_strict_tool_use vote_only tools truncation", hint: noCounterpart},
		{fate: warned, names: "agent_config group_config", hint: "write the provider and model of its llm_config in type: and model:"},
		{fate: warned, names: "enable_nlip nlip nlip_config", topic: nlipTopic},
		{fate: warned, names: "enable_rate_limit", hint: "use requests_per_minute in providers:"},
		{fate: warned, names: "enable_x_search", hint: "use enable_web_search"},
		{fate: warned, names: "betas", hint: "use extra_headers: {anthropic-beta: …}"},
		{fate: warned, names: "agent_temporary_workspace", hint: "use agent_temporary_workspace in orchestrator"},
		{fate: warned, names: "system_prompt append_system_prompt", hint: "use system_message of the agent"},
		{fate: warned, names: "output_schema", hint: "use --schema FILE"},
		{fate: warned, names: "organization", hint: "use extra_headers: {OpenAI-Organization: …}"},
		{fate: warned, names: "tool_choice response_format", hint: "the tools of coordination need it; use extra_body if the service still takes it"},
	}
}

// sentKeys are parameters that MassGen sends to the service as they stand; so does this program.
func sentKeys() []key[Backend] {
	var keys []key[Backend]
	for _, name := range sentNames() {
		keys = append(keys, key[Backend]{name, by(func(r *reader, at string, n *yaml.Node, b *Backend) { readSent(r, at, name, n, b) })})
	}
	return keys
}

func sentNames() []string {
	return strings.Fields(`top_k min_p frequency_penalty presence_penalty repetition_penalty logit_bias logprobs user
		parallel_tool_calls service_tier store metadata chat_template_kwargs search_parameters separate_reasoning`)
}

// checkSent leaves out parameters that Gemini would refuse: its extra_body has another form.
func (k *checker) checkSent() {
	for i, a := range k.config.Agents {
		for _, name := range sentNames() {
			at := k.agentPaths[i] + ".backend." + name
			if n := k.places[at]; n != nil && a.Backend.Type == "gemini" {
				delete(a.Backend.Params.ExtraBody, name)
				k.warn(n, "%s is not sent to Gemini; use extra_body: {generationConfig: {…}}", at)
			}
		}
	}
}

// readSent adds a parameter to the extra_body.
func readSent(r *reader, at, name string, n *yaml.Node, b *Backend) {
	if isNull(n) {
		return
	}
	var v any
	if err := deref(n).Decode(&v); err != nil {
		r.doc.fail(n, "%s cannot be read: %s", at, yamlReason(err))
		return
	}
	r.doc.massgen = true
	if b.Params.ExtraBody == nil {
		b.Params.ExtraBody = map[string]any{}
	}
	b.Params.ExtraBody[name] = r.expandAll(at, n, v, false)
}

func serverMassGenKeys() []massgenKeys {
	return []massgenKeys{
		{fate: accepted, names: "description category defer_loading"},
		{fate: warned, names: "timeout http_read_timeout", hint: "use tool_timeout_seconds in timeout_settings"},
	}
}

func orchestratorMassGenKeys() []massgenKeys {
	return []massgenKeys{
		// The pace of rounds holds what these ask for.
		{fate: accepted, names: `max_midstream_injections_per_round defer_peer_updates_until_restart
			allow_midstream_peer_updates_before_checklist_submit defer_voting_until_all_answered disable_injection
			max_checklist_calls_per_round checklist_first_answer checklist_require_gap_report gap_report_mode
			type interactive_mode session_storage use_orchestrator_for_single_agent skip_agent_selector`},
		{fate: accepted, names: "debug_final_answer"},
		{fate: warned, names: "coordination_mode", hint: noCounterpart, harmless: isOneOfWords("voting")},
		{fate: warned, names: "presenter_agent", hint: "the winner presents; use final_answer_strategy: synthesize"},
		{fate: warned, names: "skip_voting skip_coordination_rounds", hint: "use max_rounds"},
		{fate: warned, names: "timeout max_duration", hint: "use timeout_settings"},
		{fate: warned, names: "max_debate_rounds", hint: "use max_rounds"},
		{fate: warned, names: "dspy", hint: noCounterpart},
		{fate: warned, names: "docker", topic: sandboxTopic, follows: true},
		{fate: warned, names: "skills_directory", topic: skillsTopic, follows: true},
		{fate: warned, names: "enable_multimodal_tools", topic: mediaTopic},
		{fate: warned, names: `multimodal_config image_generation_backend image_generation_model video_generation_backend
			video_generation_model audio_generation_backend audio_generation_model`, topic: mediaTopic, follows: true},
		{fate: warned, names: "enable_nlip nlip nlip_config", topic: nlipTopic},
		{fate: warned, names: "enable_rate_limit", hint: "use requests_per_minute in providers:"},
		{fate: refused, names: "hooks", hint: hooksCure},
	}
}

func coordinationMassGenKeys() []massgenKeys {
	return []massgenKeys{
		{fate: accepted, names: `use_two_tier_workspace drift_conflict_policy async_subagents web_review disable_final_only_round_capture_fallback
			task_planning_filesystem_mode compression_target_ratio learning_capture_mode`},
		{fate: warned, names: "use_skills", topic: skillsTopic},
		{fate: warned, names: "skills_directory massgen_skills load_previous_session_skills skill_lifecycle_mode", topic: skillsTopic, follows: true},
		{fate: warned, names: "enable_subagents", topic: subagentTopic},
		{fate: warned, names: `subagent_types subagent_default_timeout subagent_min_timeout subagent_max_timeout subagent_max_concurrent
			subagent_round_timeouts subagent_runtime_mode subagent_runtime_fallback_mode subagent_host_launch_prefix subagent_orchestrator
			background_subagents`, topic: subagentTopic, follows: true},
		{fate: warned, names: `evaluation_criteria_generator checklist_criteria_preset checklist_criteria_inline criteria_mode evolving_criteria
			orchestrator_managed_round_evaluator round_evaluator_before_checklist enable_execution_trace_analyzer auto_trace_analysis
			enable_quality_rethink_on_iteration enable_novelty_on_iteration enable_evaluator_personas improvements fast_iteration_mode
			skip_redundant_scaffolding enable_changedoc`, topic: criteriaTopic},
		{fate: warned, names: `bootstrap_max_per_agent_per_round bootstrap_max_total round_evaluator_skip_synthesis round_evaluator_refine
			round_evaluator_transformation_pressure evolving_criteria_score_threshold evolving_criteria_max_evolutions
			evolving_criteria_min_high_score_count evolving_criteria_timeout max_verifications_per_round max_internal_fix_loops
			pre_collab_voting_threshold`, topic: criteriaTopic, follows: true},
		{fate: warned, names: "novelty_injection", topic: criteriaTopic, harmless: isOneOfWords("none")},
		{fate: warned, names: "persona_generator", hint: "give the agents different system_messages"},
		{fate: warned, names: "prompt_improver task_decomposer resume_from_log", hint: noCounterpart},
		{fate: warned, names: "broadcast", topic: talkTopic},
		{fate: warned, names: `broadcast_timeout broadcast_sensitivity response_depth broadcast_wait_by_default max_broadcasts_per_agent`, topic: talkTopic, follows: true},
		{fate: warned, names: "plan_depth plan_thoroughness plan_target_steps plan_target_chunks", topic: planRunTopic},
		{fate: warned, names: "write_mode", hint: "agents write into folders of their own, and only the winner writes into a context path", harmless: isOneOfWords("legacy")},
		{fate: refused, names: "checkpoint_gated_patterns", hint: "use permissions: for these tools"},
		{fate: warned, names: `checkpoint_enabled standalone_checkpoint standalone_checkpoint_enabled`, hint: noCounterpart},
		{fate: accepted, names: `checkpoint_mode checkpoint_guidance standalone_checkpoint_team_config standalone_checkpoint_mode
			standalone_checkpoint_single standalone_checkpoint_include_workspace_context`},
	}
}

func uiMassGenKeys() []massgenKeys {
	return []massgenKeys{{fate: accepted, names: "nlip logging_enabled automation_mode type theme display_kwargs skip_agent_selector use_orchestrator_for_single_agent"}}
}
