package config

import _ "embed"

//go:embed example.yaml
var example string

// Example returns a settings file in which every setting is explained and
// commented out. It is also hako.yaml.example, for those who look there.
func Example() string { return example }
