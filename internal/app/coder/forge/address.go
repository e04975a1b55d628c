package forge

import (
	"net/url"
	"strings"

	"hako/run/fault"
)

// apiAddress returns the base URL of the API, given that URL or the one of the web
// pages.
func apiAddress(provider, text string) (*url.URL, error) {
	if text == "" {
		text = map[string]string{GitHub: "https://api.github.com", GitLab: "https://gitlab.com"}[provider]
	}
	bad := func(why, hint string) error { // without the URL: it may contain a password
		return &fault.Error{Kind: fault.Invalid, Op: "read", Subject: provider + ".api_url", Why: why, Hint: hint}
	}
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "":
		return nil, bad("it is no URL of a server", "write it as https://"+provider+".example.com")
	case u.User != nil:
		return nil, bad("it contains a name or a password", "put the token into "+tokenVariable(provider)+" instead")
	case u.RawQuery != "" || u.Fragment != "" || u.RawPath != "":
		return nil, bad("it has more than a path after the server", "leave out what follows ? and #")
	}
	u.Host, u.ForceQuery = strings.ToLower(u.Host), false
	u.Path = strings.TrimRight(u.Path, "/")
	if provider == GitHub {
		setGitHubPath(u)
	} else if !strings.HasSuffix(u.Path, "/api/v4") { // GitLab may be below a path of its own
		u.Path = strings.TrimSuffix(u.Path, "/api") + "/api/v4"
	}
	u.Path += "/"
	return u, nil
}

// setGitHubPath knows api.github.com, api.NAME.ghe.com, and /api/v3 of a GitHub
// Enterprise Server.
func setGitHubPath(u *url.URL) {
	switch {
	case strings.HasPrefix(u.Host, "api."):
	case u.Host == "github.com" || u.Host == "www.github.com":
		u.Host, u.Path = "api.github.com", ""
	case strings.HasSuffix(u.Host, ".ghe.com"):
		u.Host, u.Path = "api."+u.Host, ""
	case !strings.HasSuffix(u.Path, "/api/v3"):
		u.Path = strings.TrimSuffix(u.Path, "/api") + "/api/v3"
	}
}
