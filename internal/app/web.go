package app

import (
	"hako/internal/config"
	"hako/internal/websearch"
)

// SearchEngine returns the configured search engine and its name.
func SearchEngine(conf *config.Config) (websearch.Engine, string, error) {
	chosen := config.SearchProvider.Of(conf)
	return websearch.Choose(chosen.V, chosen.From != "default", websearch.Options{
		GoogleKey: config.SearchGoogleKey.Of(conf).V, GoogleCX: config.SearchGoogleCX.Of(conf).V,
		BraveKey: config.SearchBraveKey.Of(conf).V, SearxngURL: config.SearchSearxngURL.Of(conf).V,
		GoogleURL: config.SearchGoogleURL.Of(conf).V, BraveURL: config.SearchBraveURL.Of(conf).V,
	})
}
