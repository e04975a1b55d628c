package forge

import (
	"net/url"
	"strings"

	"hako/run/fault"
)

// address finds a forge's API from what people write: the API itself, or the
// pages they see.
func address(provider, text string) (*url.URL, error) {
	if text == "" {
		text = map[string]string{GitHub: "https://api.github.com", GitLab: "https://gitlab.com"}[provider]
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" {
		return nil, badAddress(provider, "it is no address of a server", "write it as https://"+provider+".example.com")
	}
	if u.User != nil {
		return nil, badAddress(provider, "it has a name or a password in it", "put the token into "+tokenName(provider)+
			" instead")
	}
	if u.RawQuery != "" || u.Fragment != "" || u.RawPath != "" {
		return nil, badAddress(provider, "it has more than a path behind the server", "leave out what follows ? and #")
	}
	u.Host, u.ForceQuery = strings.ToLower(u.Host), false
	u.Path = strings.TrimRight(u.Path, "/")
	if provider == GitHub {
		return githubAPI(u), nil
	}
	return gitlabAPI(u), nil
}

// badAddress does not repeat the address: there may be a password in it.
func badAddress(provider, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read", Subject: provider + ".api_url", Why: why, Hint: hint}
}

// githubAPI knows the three places: api.github.com, api.NAME.ghe.com, and
// /api/v3 of a server of one's own.
func githubAPI(u *url.URL) *url.URL {
	switch {
	case strings.HasPrefix(u.Host, "api."):
	case u.Host == "github.com" || u.Host == "www.github.com":
		u.Host, u.Path = "api.github.com", ""
	case strings.HasSuffix(u.Host, ".ghe.com"):
		u.Host, u.Path = "api."+u.Host, ""
	case !strings.HasSuffix(u.Path, "/api/v3"):
		u.Path = strings.TrimSuffix(u.Path, "/api") + "/api/v3"
	}
	u.Path += "/"
	return u
}

// gitlabAPI keeps the path before it: GitLab may live below one.
func gitlabAPI(u *url.URL) *url.URL {
	if !strings.HasSuffix(u.Path, "/api/v4") {
		u.Path = strings.TrimSuffix(u.Path, "/api") + "/api/v4"
	}
	u.Path += "/"
	return u
}
