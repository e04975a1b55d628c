package cli

import "hako/shell/spec"

// An Option is one option as it was given.
type Option = spec.Arg
