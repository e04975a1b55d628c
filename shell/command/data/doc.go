// Package data has the commands for structured data and for bytes: jq, yq,
// encodings, checksums and dumps.
package data
