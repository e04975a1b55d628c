package cli

import (
	"os"
	"testing"
)

// asHako is the variable that makes the test binary be hako.
const asHako = "HAKO_TEST_AS_HAKO"

func TestMain(m *testing.M) {
	if os.Getenv(asHako) != "" {
		os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
