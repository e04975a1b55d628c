package config

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode"

	"hako/internal/lazyregexp"
	"hako/run/fault"
)

// An MCPServer offers tools to the agent's model. It has either a command or a URL.
type MCPServer struct {
	Name    string
	Command []string          // a program and its arguments; nil means that there is a URL
	Env     map[string]string // additional variables of the program; nil means none
	URL     string            // empty means that there is a command
	Header  map[string]string // for the URL; nil means none
	Tools   []string          // only these are offered; nil means all
	Timeout time.Duration     // of one call; zero means the default
}

// String returns the name only, because the rest may be secret.
func (m MCPServer) String() string { return m.Name }

// repositoryForm is a host with a path of at least two names; the last may be *.
var repositoryForm = lazyregexp.New(
	`^(?:https?://)?[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~+@,=-]+)+/(?:\*|[A-Za-z0-9._~+@,=-]+)/?$`)

func grantedRepositories(s setting) ([]string, error) {
	for _, word := range s.words {
		if !repositoryForm.Get().MatchString(word) {
			return nil, fmt.Errorf(
				"%q is not a repository as github.com/owner/project, nor all of an owner as github.com/owner/*", word)
		}
	}
	return s.words, nil
}

// mcpList has the servers with unexpanded ${NAME}.
const mcpList = Key[mcpServers]("mcp_servers")

type mcpServers []MCPServer

// String returns the names.
func (all mcpServers) String() string {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.Name
	}
	return strings.Join(names, ", ")
}

// MCPServers returns the servers in the order of the file, with ${NAME} expanded. Only here a missing variable is an
// error, because other commands do not need it.
func (c *Config) MCPServers() ([]MCPServer, error) {
	list := mcpList.Of(c)
	all := make([]MCPServer, len(list.V))
	for i, m := range list.V {
		filled, err := m.expanded(c.getenv)
		if err != nil {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "set " + string(mcpList), Why: list.From,
				Err:  fmt.Errorf("%s: %w", m.Name, err),
				Hint: "set the variable, or take the server out of the file"}
		}
		all[i] = filled
	}
	return all, nil
}

func (m MCPServer) expanded(getenv func(string) (string, bool)) (MCPServer, error) {
	m.Env, m.Header = maps.Clone(m.Env), maps.Clone(m.Header)
	for _, values := range []map[string]string{m.Env, m.Header} {
		for name, value := range values {
			full, err := expand(value, getenv)
			if err == nil {
				err = checkValue(full)
			}
			if err != nil {
				return m, fmt.Errorf("%s: %w", name, err)
			}
			values[name] = full
		}
	}
	return m, nil
}

var (
	referenceForm = lazyregexp.New(`\$\{([^}]*)\}`)
	variableForm  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// expand expands ${NAME}.
func expand(value string, getenv func(string) (string, bool)) (string, error) {
	var missing error
	full := referenceForm.Get().ReplaceAllStringFunc(value, func(found string) string {
		name := found[len("${") : len(found)-len("}")]
		text, _ := getenv(name)
		if text == "" {
			missing = fmt.Errorf("the variable %s is not set", name)
		}
		return strings.TrimSpace(text)
	})
	return full, missing
}

// checkValue refuses values that would be parsed as several headers or variables. The error does not show them.
func checkValue(value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return errors.New("the value has a line break or another control character in it")
	}
	return nil
}

// checkReferences refuses a ${ that is not followed by the name of a variable and }.
func checkReferences(value string) error {
	rest := referenceForm.Get().ReplaceAllStringFunc(value, func(found string) string {
		if variableForm.Get().MatchString(found[len("${") : len(found)-len("}")]) {
			return ""
		}
		return found
	})
	if strings.Contains(rest, "${") {
		return errors.New("there is a ${ that does not go on with the name of a variable and }")
	}
	return nil
}

// minSecret is the minimum length of a value that is redacted.
const minSecret = 6

// mcpSecrets returns the values of variables and headers; without getenv only those without ${NAME}.
func mcpSecrets(s setting) (found []string) {
	all, err := parseMCP(s)
	if err != nil {
		return nil
	}
	for _, m := range all {
		for _, value := range m.Env {
			found = append(found, secretsIn(value, s.getenv)...)
		}
		for _, value := range m.Header {
			found = append(found, secretsIn(value, s.getenv)...)
		}
	}
	return found
}

// secretsIn returns a value and its secret parts: the values of its variables, and the key in "Bearer KEY".
func secretsIn(value string, getenv func(string) (string, bool)) (found []string) {
	references := referenceForm.Get().FindAllStringSubmatch(value, -1)
	if len(references) > 0 && getenv == nil {
		return nil
	}
	for _, r := range references {
		text, _ := getenv(r[1])
		found = append(found, strings.TrimSpace(text))
	}
	full, missing := expand(value, getenv)
	if missing != nil {
		return longOnly(found) // the rest is not secret, such as the word Bearer
	}
	_, after, _ := strings.Cut(full, " ")
	return longOnly(append(found, full, after))
}

func longOnly(words []string) (long []string) {
	for _, word := range words {
		if len(word) >= minSecret {
			long = append(long, word)
		}
	}
	return long
}
