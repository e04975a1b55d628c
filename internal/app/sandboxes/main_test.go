package sandboxes

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"hako/container/guest/server"
)

// TestMain is also the guest of containers.
func TestMain(m *testing.M) {
	server.Main(os.Args[0], os.Args[1:])
	goleak.VerifyTestMain(m)
}
