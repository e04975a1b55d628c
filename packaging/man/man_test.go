package man

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		`grep 'a|b' -- ~/x`: `grep \(aqa|b\(aq \-\- \(ti/x`,
		`.hidden`:           `\&.hidden`,
		`'quoted'`:          `\&\(aqquoted\(aq`,
		`C:\n`:              `C:\(rsn`,
		`箱 ^`:               `箱 \(ha`,
		"":                  ".sp",
	} {
		if got := escapeLine(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// A page keeps flags that take a value apart from those that may.
func TestOptions(t *testing.T) {
	c := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
	c.Flags().StringP("file", "f", "", "read `FILE`")
	c.Flags().String("continue", "", "go on with `NAME`")
	c.Flags().Lookup("continue").NoOptDefVal = "last"
	c.Flags().Int("count", 5, "list `N`")
	c.Flags().Bool("secret", false, "")
	_ = c.Flags().MarkHidden("secret")
	got := options(c.Flags())
	for _, want := range []string{`\fB\-f\fR, \fB\-\-file\fR \fIFILE\fR`, `\fB\-\-continue\fR[=\fINAME\fR]`,
		"list N (default 5)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if strings.Contains(got, "secret") {
		t.Error("it shows a hidden flag")
	}
}
