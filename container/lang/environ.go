package lang

import (
	"maps"
	"slices"
	"strings"
)

// ContainerSettings are the properties of a container that its environment depends on.
type ContainerSettings struct {
	Proxy bool // there is a proxy at [ProxyHost]:[ProxyPort]
	CA    bool // the results of [Bundle] are at [CABundle] and [TrustStore]; false means the image's own

	// Path is the PATH of the image; empty means the default one, or none if the language has no path of its own.
	Path string
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// ours are variables that no language may set.
var ours = []string{"HOME", "PATH", "LANG", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
	"PIP_CERT", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "GIT_TERMINAL_PROMPT", "GIT_CONFIG_COUNT"}

// Environ returns the environment of commands as NAME=value, sorted.
func (l Language) Environ(o ContainerSettings) []string {
	env := map[string]string{}
	maps.Copy(env, l.Env)
	maps.Copy(env, map[string]string{
		"HOME":                Home,
		"LANG":                "C.UTF-8",
		"TMPDIR":              Temp,
		"GIT_TERMINAL_PROMPT": "0", // nobody is there to answer
	})
	if len(l.Path) > 0 || o.Path != "" {
		env["PATH"] = l.path(o.Path)
	}
	if o.Proxy {
		maps.Copy(env, proxies())
	}
	if o.CA {
		maps.Copy(env, authorities())
	}
	addJava(env, o)
	addGit(env)
	return sorted(env)
}

func sorted(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

func (l Language) path(image string) string {
	if image == "" {
		image = defaultPath
	}
	return strings.Join(append(slices.Clone(l.Path), image), ":")
}

// proxies are the variables for a proxy.
func proxies() map[string]string {
	const url, none = "http://" + ProxyHost + ":" + ProxyPort, "localhost,127.0.0.1,::1"
	env := map[string]string{"NO_PROXY": none, "no_proxy": none}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "npm_config_proxy", "npm_config_https_proxy",
		"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"} {
		env[name] = url
	}
	env["http_proxy"], env["https_proxy"] = url, url // curl accepts only lower case for http
	env["NODE_USE_ENV_PROXY"] = "1"                  // otherwise fetch in Node.js ignores the proxy
	return env
}

// authorities are the variables for certificates.
func authorities() map[string]string {
	env := map[string]string{}
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT",
		"NODE_EXTRA_CA_CERTS",
		"GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "CONDA_SSL_VERIFY", "MAMBA_SSL_VERIFY"} {
		env[name] = CABundle
	}
	return env
}

// addJava configures Maven and Gradle, which use other variables. Not JAVA_TOOL_OPTIONS: every Java program would
// print it.
func addJava(env map[string]string, o ContainerSettings) {
	var options []string
	if o.Proxy {
		for _, scheme := range []string{"http", "https"} {
			options = append(options, "-D"+scheme+".proxyHost="+ProxyHost, "-D"+scheme+".proxyPort="+ProxyPort)
		}
	}
	if o.CA {
		options = append(options, "-Djavax.net.ssl.trustStore="+TrustStore, "-Djavax.net.ssl.trustStoreType=JKS",
			"-Djavax.net.ssl.trustStorePassword="+storePassword)
	}
	if len(options) == 0 {
		return
	}
	gradle := strings.Join(options, " ")
	maven := gradle + " -Daether.connector.http.useSystemProperties=true -Daether.transport.http.useSystemProperties=true"
	env["GRADLE_OPTS"] = strings.TrimSpace(env["GRADLE_OPTS"] + " " + gradle)
	env["MAVEN_OPTS"] = strings.TrimSpace(env["MAVEN_OPTS"] + " " + maven)
}

// addGit configures git. The clone belongs to the user of the commands, but the directory above it may not.
func addGit(env map[string]string) {
	env["GIT_CONFIG_COUNT"], env["GIT_CONFIG_KEY_0"], env["GIT_CONFIG_VALUE_0"] = "1", "safe.directory", "*"
}
