package config

var searchKeys = []key{
	SearchProvider, SearchGoogleKey, SearchGoogleCX, SearchBraveKey, SearchSearxngURL, SearchGoogleURL, SearchBraveURL,
}

// SearchProvider names the search engine.
var SearchProvider = Key[string]{
	Name: "search.provider", Env: "AICLI_SEARCH_PROVIDER", Parse: oneOf("google_cse", "google", "brave", "searxng"),
	Default: constant("google_cse"),
	Local:   harmless, With: "search.google_api_key search.brave_api_key", Decides: whereData,
	Help: "google_cse (or google), brave or searxng",
}

// What the search engines want to be shown.
var (
	SearchGoogleKey = Key[string]{Name: "search.google_api_key", Env: "GOOGLE_API_KEY", Parse: secret, Secret: true,
		Local: harmless, With: "search.google_api_key", Decides: "in whose account you search",
		Help: "the key for Google; a file that has it must be its owner's alone"}
	SearchGoogleCX = Key[string]{Name: "search.google_cse_cx", Env: "GOOGLE_CSE_CX", Parse: text,
		Local: harmless, With: "search.google_api_key", Decides: whereData,
		Help: "the id of your search engine at Google"}
	SearchBraveKey = Key[string]{Name: "search.brave_api_key", Env: "BRAVE_API_KEY", Parse: secret, Secret: true,
		Local: harmless, With: "search.brave_api_key", Decides: "in whose account you search",
		Help: "the key for Brave; a file that has it must be its owner's alone"}
)

// Where the search engines are. The last two are for proxies and tests.
var (
	SearchSearxngURL = Key[string]{Name: "search.searxng_url", Env: "SEARXNG_URL", Parse: address, Local: loopback,
		Decides: whereData,
		Help:    "where your SearXNG is, as https://searx.example.com"}
	SearchGoogleURL = Key[string]{Name: "search.google_url", Env: "HAKO_GOOGLE_URL", Parse: address,
		Default: constant("https://www.googleapis.com/customsearch/v1"), Carries: SearchGoogleKey.Name, Decides: whereData,
		Help: "where to ask Google, as https://www.googleapis.com/customsearch/v1"}
	SearchBraveURL = Key[string]{Name: "search.brave_url", Env: "HAKO_BRAVE_URL", Parse: address,
		Default: constant("https://api.search.brave.com/res/v1/web/search"), Carries: SearchBraveKey.Name, Decides: whereData,
		Help: "where to ask Brave, as https://api.search.brave.com/res/v1/web/search"}
)

var webKeys = []key{WebPrefixes}

// WebPrefixes are the addresses that may be read from the web, beside
// [ExecutePrefixes].
var WebPrefixes = Key[[]string]{
	Name: "web.url_prefixes", Parse: prefixes, Many: true, Decides: mayFetch,
	Help: "a list of addresses that may be read, as https://example.com/docs/",
}
