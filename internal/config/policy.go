package config

var policyKeys = []key{PolicyProfile, PolicyRules, PolicyWhitelist, PolicyPrograms}

// PolicyProfile names the set of rules to start from.
var PolicyProfile = Key[string]{
	Name: "policy.profile", Env: "HAKO_PROFILE", Parse: oneOf("virtual", "host", "container"),
	Local: only("host"), Decides: mayRun, // which is the strictest
	Help: "virtual, host or container; empty means that of the runner",
}

// PolicyRules is a file of rules that are added to the profile's.
var PolicyRules = Key[string]{
	Name: "policy.rules", Env: "HAKO_POLICY", Parse: file, Decides: mayRun,
	Help: "a file of rules, one a line: allow, ask or deny, words, # reason",
}

// PolicyWhitelist is a file of command names that are allowed.
var PolicyWhitelist = Key[string]{
	Name: "policy.whitelist", Parse: file, Decides: mayRun,
	Help: "a file of command names that are allowed, one a line",
}

// PolicyPrograms is a file that describes programs which hako does not know.
var PolicyPrograms = Key[string]{
	Name: "policy.programs", Env: "HAKO_PROGRAMS", Parse: file, Decides: mayRun,
	Help: "a file that describes programs of your own: their options and what their operands are",
}

var executorKeys = []key{AllowedUseDefault, AllowedAdditional, AllowedExclude, AllowedCustom}

// The compatible spelling of rules: which commands an executor allows.
var (
	AllowedUseDefault = Key[bool]{Name: "command_executor.allowed_commands.use_default", Parse: truth,
		Default: constant(true), Decides: mayRun,
		Help: "true or false: whether to start from the default list of commands"}
	AllowedAdditional = Key[[]string]{Name: "command_executor.allowed_commands.additional", Parse: words, Many: true,
		Decides: mayRun,
		Help:    "a list of commands to allow beside the default ones"}
	AllowedExclude = Key[[]string]{Name: "command_executor.allowed_commands.exclude", Parse: words, Many: true,
		Decides: mayRun,
		Help:    "a list of default commands not to allow"}
	AllowedCustom = Key[[]string]{Name: "command_executor.allowed_commands.custom_list", Parse: words, Many: true,
		Decides: mayRun,
		Help:    "a list of commands to allow instead of the default ones"}
)
