package config

import (
	"fmt"

	"hako/internal/lazyregexp"
)

var containerKeys = []key{
	ContainerEnabled, ContainerEnvironments, ContainerDefault, ContainerMCPName, ContainerMCPCommand,
	DockerHost, DockerBaseImage, DockerCA, DockerCPU, DockerMemory, DockerDisk, DockerPids,
	DockerExternal, DockerWhitelist, DockerDomains, DockerPrivate,
	CloneShallow, CloneDepth, CloneInstall, CloneInsecure, CloneOwnImage,
	ContainerTimeout, ContainerOutput, CleanupInterval, CleanupStale, PoolSize, PoolEnvironment,
}

// Which environments there are, and whether models get them.
var (
	ContainerEnabled = Key[bool]{Name: "command_executor.enabled",
		Env: "HAKO_COMMAND_EXECUTOR_ENABLED COMMAND_EXECUTOR_ENABLED", Parse: truth,
		Local: only("false"), Decides: mayRun,
		Help: "true or false: whether models may work in containers: a false that is written out stops hako agent and container sandboxes of MCP clients; hako env works in any case"}
	ContainerEnvironments = Key[map[string]string]{Name: "command_executor.environments", Fields: "image",
		Parse: environments, Decides: mayRun,
		Help: "the image of each environment, as python: coding-agent-executor-python:latest; what is not listed keeps its own"}
	ContainerDefault = Key[string]{Name: "command_executor.default_environment", Env: "HAKO_DEFAULT_ENVIRONMENT",
		Parse: environmentName, Default: constant("python"), Decides: mayRun,
		Help: "the environment that is used when none, or none that exists, is chosen"}
	ContainerMCPName = Key[string]{Name: "command_executor.mcp_server.name", Parse: orEmpty(text), Local: harmless,
		Help: "understood for the sake of files written for others; hako runs commands itself"}
	ContainerMCPCommand = Key[[]string]{Name: "command_executor.mcp_server.command", Parse: words, Many: true,
		Decides: mayRun,
		Help:    "understood for the sake of files written for others; it is never started"}
)

// The engine, and what one container may use and reach.
var (
	DockerHost = Key[string]{Name: "command_executor.docker.host", Env: "DOCKER_HOST", Parse: orEmpty(text),
		Decides: mayRun,
		Help:    "the address of the Docker engine; empty means unix:///var/run/docker.sock"}
	DockerBaseImage = Key[string]{Name: "command_executor.docker.base_image", Env: "EXECUTOR_BASE_IMAGE",
		Parse: orEmpty(imageName), Decides: mayRun,
		Help: "the image of environments that are listed without one; empty means that they must have one"}
	DockerCA = Key[string]{Name: "command_executor.docker.ca_certificates", Env: "EXECUTOR_CA_CERTIFICATES",
		Parse: orEmpty(file), Decides: whomTrusted,
		Help: "a file of certificates (PEM) that programs in containers trust besides the usual, as of a company's proxy; empty means none"}
	DockerCPU = Key[float64]{Name: "command_executor.docker.resources.cpu_limit", Env: "EXECUTOR_CPU_LIMIT",
		Parse: numberFrom(0.1, 1024), Default: constant(2.0), Decides: mayUse,
		Help: "how many processors a container may use, from 0.1 to 1024"}
	DockerMemory = Key[Size]{Name: "command_executor.docker.resources.memory_limit", Env: "EXECUTOR_MEMORY_LIMIT",
		Parse: sizeFrom(64<<20, 1<<42), Default: constant(Size(4 << 30)), Decides: mayUse,
		Help: "what memory a container may take, from 64MB to 4TB"}
	DockerDisk = Key[Size]{Name: "command_executor.docker.resources.disk_limit", Env: "EXECUTOR_DISK_LIMIT",
		Parse: sizeFrom(64<<20, 1<<42), Default: constant(Size(10 << 30)), Decides: mayUse,
		Help: "how large the workspace of a container may become, from 64MB to 4TB"}
	DockerPids = Key[int]{Name: "command_executor.docker.resources.pids_limit", Env: "EXECUTOR_PIDS_LIMIT",
		Parse: between(16, 100_000), Default: constant(512), Decides: mayUse,
		Help: "how many processes and threads a container may have, from 16 to 100000"}
	DockerExternal = Key[bool]{Name: "command_executor.docker.network.external_access", Env: "EXECUTOR_EXTERNAL_ACCESS",
		Parse: truth, Default: constant(true), Local: only("false"), Decides: whereData,
		Help: "true or false: whether containers reach the web, which they do by a proxy that refuses private addresses"}
	DockerWhitelist = Key[bool]{Name: "command_executor.docker.network.whitelist_mode", Env: "EXECUTOR_WHITELIST_MODE",
		Parse: truth, Local: only("true"), Decides: whereData,
		Help: "true or false: whether containers reach only the hosts in allowed_domains"}
	DockerDomains = Key[[]string]{Name: "command_executor.docker.network.allowed_domains", Env: "EXECUTOR_ALLOWED_DOMAINS",
		Parse: words, Many: true, Decides: whereData,
		Help: "a list of hosts that containers reach in whitelist_mode, as example.com, *.example.com or example.com:8443"}
	DockerPrivate = Key[[]string]{Name: "command_executor.docker.network.private_networks",
		Env: "EXECUTOR_PRIVATE_NETWORKS", Parse: words, Many: true, Decides: whereData,
		Help: "a list of hosts and networks with private addresses that containers may reach all the same, as git.example.com or 10.1.0.0/16"}
)

// What is put into a container, how commands run in it, and when it is removed.
var (
	CloneShallow = Key[bool]{Name: "command_executor.clone.shallow", Parse: truth, Default: constant(true),
		Local: harmless,
		Help:  "true or false: whether only the newest commits are cloned"}
	CloneDepth = Key[int]{Name: "command_executor.clone.depth", Parse: between(1, 1_000_000), Default: constant(1),
		Local: harmless,
		Help:  "how many commits a shallow clone has, from 1 to 1000000"}
	CloneInstall = Key[bool]{Name: "command_executor.clone.auto_install_deps", Parse: truth, Default: constant(true),
		Local: only("false"), Decides: mayRun,
		Help: "true or false: whether dependencies are installed"}
	CloneInsecure = Key[bool]{Name: "command_executor.clone.insecure_tls", Env: "HAKO_INSECURE_TLS", Parse: truth,
		Local: only("false"), Decides: whereData,
		Help: "true or false: whether git servers are trusted without a valid certificate; whoever is in between gets your token: better name their certificate in ca_certificates"}
	CloneOwnImage = Key[bool]{Name: "command_executor.clone.project_dockerfile", Env: "HAKO_PROJECT_DOCKERFILE",
		Parse: truth, Local: only("false"), Decides: mayRun,
		Help: "true or false: whether a repository may bring its own image, .hako/Dockerfile, which is built on this machine's engine with access to the network"}
	ContainerTimeout = Key[int]{Name: "command_executor.execution.timeout_seconds", Env: "EXECUTOR_TIMEOUT",
		Parse: between(1, 604_800), Default: constant(1800), Decides: mayUse,
		Help: "how many seconds a command may run, from 1 to 604800"}
	ContainerOutput = Key[Size]{Name: "command_executor.execution.max_output_size", Env: "EXECUTOR_MAX_OUTPUT_SIZE",
		Parse: sizeFrom(1<<10, 1<<30), Default: constant(Size(1 << 20)), Decides: mayUse,
		Help: "how much is kept of stdout, and of stderr, from 1KB to 1GB"}
	CleanupInterval = Key[int]{Name: "command_executor.cleanup.interval_hours", Parse: between(1, 8760),
		Default: constant(24), Decides: mayUse,
		Help: "after how many hours a service removes again what others left, from 1 to 8760"}
	CleanupStale = Key[int]{Name: "command_executor.cleanup.stale_threshold_hours", Parse: between(1, 8760),
		Default: constant(24), Decides: mayUse,
		Help: "after how many hours without use a container is removed that nobody took down, from 1 to 8760; one in which something runs is kept"}
	PoolSize = Key[int]{Name: "command_executor.pool.size", Env: "EXECUTOR_POOL_SIZE", Parse: between(0, 100),
		Default: constant(1), Decides: mayUse,
		Help: "how many containers a service keeps ready for tasks to come, from 0 to 100"}
	PoolEnvironment = Key[[]string]{Name: "command_executor.pool.environments", Parse: words, Many: true, Decides: mayUse,
		Help: "a list of the environments that are kept ready; empty means the default one"}
)

var (
	environmentForm = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)
	imageForm       = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,254}$`)
)

func environmentName(s setting) (string, error) {
	if !environmentForm.Get().MatchString(s.words[0]) {
		return "", fmt.Errorf("%q is not the name of an environment such as python", s.words[0])
	}
	return s.words[0], nil
}

func imageName(s setting) (string, error) {
	if !imageForm.Get().MatchString(s.words[0]) {
		return "", fmt.Errorf("%q is not the name of an image such as coding-agent-executor-python:latest", s.words[0])
	}
	return s.words[0], nil
}

// environments reads the images of environments; one without an image has the
// base image.
func environments(s setting) (map[string]string, error) {
	all := make(map[string]string)
	for _, r := range s.rows {
		name, err := environmentName(setting{words: []string{r.name}})
		if err != nil {
			return nil, err
		}
		if all[name], err = orEmpty(imageName)(setting{words: []string{r.fields["image"]}}); err != nil {
			return nil, fmt.Errorf("%s: %v", name, err)
		}
	}
	return all, nil
}
