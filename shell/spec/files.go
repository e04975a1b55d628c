package spec

import "embed"

// files has one text for each of hako's commands.
//
//go:embed *.txt
var files embed.FS
