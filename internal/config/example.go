package config

import _ "embed"

//go:embed example.yaml
var example string

// Example returns a settings file that explains every setting, commented out. hako.yaml.example is a copy.
func Example() string { return example }
