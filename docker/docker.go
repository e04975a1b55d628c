// Package docker holds the files that the images of the language environments
// are built from, so that hako can build them wherever it is installed.
package docker

import "embed"

// Files are the Dockerfiles and what they copy.
//
//go:embed Dockerfile-executor-* ca prepare.sh
var Files embed.FS
