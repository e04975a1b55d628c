//go:build linux && !amd64 && !arm64

package sandbox

// There is no filter for this architecture, so there is no sandbox.
const (
	auditArch    = 0
	otherNumbers = 0
	bigEndian    = false
)

var (
	deniedHere, changesHere, watchesHere []uintptr

	modesHere []modeCall
	opensHere []openCall
)
