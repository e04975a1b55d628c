package lang

import (
	"slices"
	"strings"
	"testing"
)

func environ(t *testing.T, l Language, o ContainerSettings) map[string]string {
	t.Helper()
	list := l.Environ(o)
	if !slices.IsSorted(list) {
		t.Errorf("not sorted: %q", list)
	}
	env := map[string]string{}
	for _, pair := range list {
		name, value, _ := strings.Cut(pair, "=")
		if _, twice := env[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		env[name] = value
	}
	return env
}

func TestEnvironWithoutAnything(t *testing.T) {
	l, _ := Find("python")
	env := environ(t, l, ContainerSettings{})
	for name, want := range map[string]string{
		"HOME": "/workspace/.home", "LANG": "C.UTF-8", "TMPDIR": "/workspace/tmp", "GIT_TERMINAL_PROMPT": "0",
		"PATH":             "/workspace/.home/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
		"PIP_DISABLE_PIP_VERSION_CHECK": "1",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	for name := range env {
		if strings.Contains(strings.ToLower(name), "proxy") || strings.Contains(name, "CERT") ||
			strings.HasSuffix(name, "_OPTS") {
			t.Errorf("%s is set although there is neither proxy nor certificate", name)
		}
	}
}

func TestEnvironOfAnImageOfOnesOwn(t *testing.T) {
	if path, set := environ(t, Language{Name: "own"}, ContainerSettings{})["PATH"]; set {
		t.Errorf("PATH of the image is overridden with %q", path)
	}
	if path := environ(t, Language{Name: "own", Path: []string{"/a"}},
		ContainerSettings{Path: "/opt/b:/bin"})["PATH"]; path != "/a:/opt/b:/bin" {
		t.Errorf("PATH is %q", path)
	}
}

func TestEnvironWithProxyAndCertificates(t *testing.T) {
	l := Language{Env: map[string]string{"MAVEN_OPTS": "-Xmx1g"}}
	env := environ(t, l, ContainerSettings{Proxy: true, CA: true})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "npm_config_proxy",
		"npm_config_https_proxy"} {
		if env[name] != "http://127.0.0.1:3128" {
			t.Errorf("%s is %q", name, env[name])
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if !strings.HasPrefix(env[name], "localhost,127.0.0.1") || strings.Contains(env[name], "hako") {
			t.Errorf("%s is %q", name, env[name])
		}
	}
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT",
		"NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"} {
		if env[name] != CABundle {
			t.Errorf("%s is %q", name, env[name])
		}
	}
	for _, name := range []string{"MAVEN_OPTS", "GRADLE_OPTS"} {
		for _, part := range []string{"-Dhttp.proxyHost=127.0.0.1", "-Dhttps.proxyHost=127.0.0.1", "-Dhttps.proxyPort=3128",
			"-Djavax.net.ssl.trustStore=" + TrustStore} {
			if !slices.Contains(strings.Fields(env[name]), part) {
				t.Errorf("%s has no %s: %q", name, part, env[name])
			}
		}
		if strings.ContainsAny(env[name], `|&;<>$"'`) {
			t.Errorf("%s would mean something to a shell that reads it again: %q", name, env[name])
		}
	}
	if !strings.HasPrefix(env["MAVEN_OPTS"], "-Xmx1g ") {
		t.Errorf("what the environment sets is lost: %q", env["MAVEN_OPTS"])
	}
}
