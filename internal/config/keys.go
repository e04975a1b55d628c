package config

import "time"

// The settings that the program reads; settings.txt defines them.

// The model that is asked, whoever provides it.
const (
	ModelName      = Key[string]("model.name")
	ModelContext   = Key[int]("model.context")
	ModelMaxOutput = Key[int]("model.max_output")
	ModelPrices    = Key[string]("model.prices")
	ModelTimeout   = Key[time.Duration]("model.timeout")
)

// OpenAI, or another server with its API.
const (
	OpenAIKey     = Key[string]("openai.api_key")
	OpenAIBaseURL = Key[string]("openai.base_url")
	OpenAIAPI     = Key[string]("openai.api")
)

// Local models of Ollama.
const (
	OllamaURL       = Key[string]("ollama.url")
	OllamaNumCtx    = Key[int]("ollama.num_ctx")
	OllamaKeepAlive = Key[string]("ollama.keep_alive")
)

// Limits of the agent loop.
const (
	RunTurns        = Key[int]("run.turns")
	RunMaxToolCalls = Key[int]("run.max_tool_calls")
	RunToolThreads  = Key[int]("run.tool_threads")
	RunSystem       = Key[string]("run.system")
)

// Web search.
const (
	SearchProvider   = Key[string]("search.provider")
	SearchGoogleKey  = Key[string]("search.google_api_key")
	SearchGoogleCX   = Key[string]("search.google_cse_cx")
	SearchBraveKey   = Key[string]("search.brave_api_key")
	SearchSearxngURL = Key[string]("search.searxng_url")
	SearchGoogleURL  = Key[string]("search.google_url")
	SearchBraveURL   = Key[string]("search.brave_url")
)

// URLs that may be read from the web, beside [ExecutePrefixes].
const (
	WebPrefixes = Key[[]string]("web.url_prefixes")
)

// The policy.
const (
	PolicyProfile   = Key[string]("policy.profile")
	PolicyRules     = Key[string]("policy.rules")
	PolicyWhitelist = Key[string]("policy.whitelist")
	PolicyPrograms  = Key[string]("policy.programs")
)

// Rules in the spelling of other agents: the commands that an executor allows.
const (
	AllowedUseDefault = Key[bool]("command_executor.allowed_commands.use_default")
	AllowedAdditional = Key[[]string]("command_executor.allowed_commands.additional")
	AllowedExclude    = Key[[]string]("command_executor.allowed_commands.exclude")
	AllowedCustom     = Key[[]string]("command_executor.allowed_commands.custom_list")
)

// Containers.
const (
	ContainerEnabled      = Key[bool]("command_executor.enabled")
	ContainerEnvironments = Key[map[string]string]("command_executor.environments")
	ContainerDefault      = Key[string]("command_executor.default_environment")
	DockerHost            = Key[string]("command_executor.docker.host")
	DockerBaseImage       = Key[string]("command_executor.docker.base_image")
	DockerCA              = Key[string]("command_executor.docker.ca_certificates")
	DockerCPU             = Key[float64]("command_executor.docker.resources.cpu_limit")
	DockerMemory          = Key[size]("command_executor.docker.resources.memory_limit")
	DockerDisk            = Key[size]("command_executor.docker.resources.disk_limit")
	DockerPids            = Key[int]("command_executor.docker.resources.pids_limit")
	DockerExternal        = Key[bool]("command_executor.docker.network.external_access")
	DockerWhitelist       = Key[bool]("command_executor.docker.network.whitelist_mode")
	DockerDomains         = Key[[]string]("command_executor.docker.network.allowed_domains")
	DockerPrivate         = Key[[]string]("command_executor.docker.network.private_networks")
	CloneShallow          = Key[bool]("command_executor.clone.shallow")
	CloneDepth            = Key[int]("command_executor.clone.depth")
	CloneInstall          = Key[bool]("command_executor.clone.auto_install_deps")
	CloneInsecure         = Key[bool]("command_executor.clone.insecure_tls")
	CloneOwnImage         = Key[bool]("command_executor.clone.project_dockerfile")
	ContainerTimeout      = Key[int]("command_executor.execution.timeout_seconds")
	ContainerOutput       = Key[size]("command_executor.execution.max_output_size")
	CleanupInterval       = Key[int]("command_executor.cleanup.interval_hours")
	CleanupStale          = Key[int]("command_executor.cleanup.stale_threshold_hours")
	PoolSize              = Key[int]("command_executor.pool.size")
	PoolEnvironment       = Key[[]string]("command_executor.pool.environments")
)

// The audit log. It cannot be switched off, only moved.
const (
	AuditPath = Key[string]("audit.path")
)

// Limits of a task, and the weight of a token in them.
const (
	quotaTotal     = Key[string]("quota.total_tokens")
	weightInput    = Key[tokenWeight]("quota.weights.input")
	weightCached   = Key[tokenWeight]("quota.weights.cached")
	weightOutput   = Key[tokenWeight]("quota.weights.output")
	weightsByModel = Key[map[string]map[string]tokenWeight]("quota.model_weights")
)

// The tool execute.
const (
	ExecuteSize     = Key[int]("execute.size")
	ExecutePrefixes = Key[[]string]("execute.url_prefixes")
)

// Questions to a person.
const (
	ApprovalElicitation = Key[bool]("approval.client_elicitation")
	ApprovalTimeout     = Key[time.Duration]("approval.timeout")
)

// llmcmd.
const (
	LlmcmdPreset        = Key[string]("llmcmd.preset")
	LlmcmdPresets       = Key[[]UserPreset]("llmcmd.presets")
	LlmcmdSystemPrompt  = Key[string]("llmcmd.system_prompt")
	LlmcmdSystemPrompts = Key[map[string]string]("llmcmd.system_prompts")
	LlmcmdInternalModel = Key[string]("llmcmd.internal_model")
	LlmcmdTemperature   = Key[maybe]("llmcmd.temperature")
	LlmcmdReadSize      = Key[int]("llmcmd.read_size")
	LlmcmdDisableTools  = Key[bool]("llmcmd.disable_tools")
	LlmcmdRetries       = Key[int]("llmcmd.retries")
	LlmcmdRetryDelay    = Key[time.Duration]("llmcmd.retry_delay")
)

// Programs of this machine.
const (
	BashEnabled     = Key[bool]("bash_executor.enabled")
	BashRequery     = Key[bool]("bash_executor.requery_on_result")
	BashLogCommands = Key[bool]("bash_executor.log_commands")
	BashMaxActions  = Key[int]("bash_executor.max_actions_per_request")
	BashMaxRounds   = Key[int]("bash_executor.max_rounds")
	BashParallel    = Key[int]("bash_executor.parallel")
	BashRateLimit   = Key[int]("bash_executor.rate_limit")
	BashCacheTTL    = Key[time.Duration]("bash_executor.cache_ttl")
	BashRoot        = Key[string]("bash_executor.root")
	BashWhitelist   = Key[string]("bash_executor.whitelist")
	BashNetwork     = Key[bool]("bash_executor.network")
	BashSandbox     = Key[string]("bash_executor.sandbox")
	BashPath        = Key[[]string]("bash_executor.path")
	BashReadable    = Key[[]string]("bash_executor.readable")
	BashProtect     = Key[[]string]("bash_executor.protect")
	BashTimeout     = Key[time.Duration]("bash_executor.timeout")
	BashMemory      = Key[size]("bash_executor.memory")
	BashProcesses   = Key[int]("bash_executor.processes")
	BashFiles       = Key[int]("bash_executor.files")
	BashFileSize    = Key[size]("bash_executor.file_size")
	BashOutput      = Key[size]("bash_executor.output")
)

// The secretary.
const (
	SecretaryModel     = Key[string]("secretary.model")
	SecretaryLanguage  = Key[string]("secretary.language")
	SecretaryName      = Key[string]("secretary.name")
	SecretarySystem    = Key[string]("secretary.system")
	SecretaryThreeStep = Key[bool]("secretary.three_step")
	SecretaryProactive = Key[time.Duration]("secretary.proactive")
	SecretaryDatabase  = Key[string]("secretary.database")
	SecretaryContext   = Key[int]("secretary.context_tokens")
	SecretaryCommands  = Key[map[string]string]("secretary.commands")
)

// Speech by COEIROINK. The ranges are those of its own programs.
const (
	SpeechEnabled    = Key[bool]("speech.enabled")
	SpeechURL        = Key[string]("speech.url")
	SpeechSpeaker    = Key[string]("speech.speaker")
	SpeechStyle      = Key[int]("speech.style")
	SpeechSpeed      = Key[float64]("speech.speed")
	SpeechVolume     = Key[float64]("speech.volume")
	SpeechPitch      = Key[float64]("speech.pitch")
	SpeechIntonation = Key[float64]("speech.intonation")
	SpeechPre        = Key[float64]("speech.pre")
	SpeechPost       = Key[float64]("speech.post")
	SpeechRate       = Key[int]("speech.rate")
	SpeechPlayer     = Key[string]("speech.player")
	SpeechFile       = Key[string]("speech.file")
)

// The coding agent.
const (
	AgentPoll         = Key[int]("agent.poll_seconds")
	AgentParallel     = Key[int]("agent.parallel")
	AgentHealth       = Key[string]("agent.health")
	AgentHealthPublic = Key[bool]("agent.health_public")
	AgentLogFormat    = Key[string]("agent.log_format")
	AgentCIFiles      = Key[bool]("agent.ci_files")
	AgentAuthor       = Key[string]("agent.author")
)

// The GitHub App that the agent is, if it has no token.
const (
	GitHubAppID           = Key[int64]("github.app.id")
	GitHubAppInstallation = Key[int64]("github.app.installation_id")
	GitHubAppKey          = Key[string]("github.app.private_key_file")
)

// Limits of one task of the agent.
const (
	PlanningTurns      = Key[int]("planning.max_turns")
	PlanningActions    = Key[int]("planning.max_actions")
	PlanningTokens     = Key[int64]("planning.max_tokens")
	PlanningCost       = Key[float64]("planning.max_cost")
	PlanningUserTokens = Key[int64]("planning.max_user_tokens")
	PlanningUserCost   = Key[float64]("planning.max_user_cost")
	PlanningReplans    = Key[int]("planning.max_replans")
	PlanningReflect    = Key[int]("planning.reflect_every")
	PlanningSame       = Key[int]("planning.max_same_errors")
	PlanningVerify     = Key[[]string]("planning.verify")
)

// The queue of tasks.
const (
	QueueURL         = Key[servers]("queue.url")
	QueueCredentials = Key[string]("queue.credentials")
	QueueCA          = Key[string]("queue.ca_certificates")
	QueueName        = Key[string]("queue.name")
	QueueReplicas    = Key[int]("queue.replicas")
	QueueTries       = Key[int]("queue.tries")
	QueueLease       = Key[int]("queue.lease_seconds")
)

// Repositories that MCP clients may clone with the user's token.
const (
	MCPRepositories = Key[[]string]("mcp.repositories")
)
