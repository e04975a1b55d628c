// Package man writes a manual page for every command of hako, from the texts of its
// help. The pages do not depend on the time or the machine.
package man

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Write writes the pages of root and all commands below it to a directory, which it
// creates.
func Write(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range pages(root) {
		if err := os.WriteFile(filepath.Join(dir, p.file()), []byte(p.roff()), 0o644); err != nil {
			return err
		}
	}
	for name, command := range otherNames {
		link := fmt.Sprintf(".so man1/%s.1\n", strings.ReplaceAll(command, " ", "-"))
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(link), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// otherNames are other names of the program, and what they stand for.
var otherNames = map[string]string{"llmsh": "hako sh", "llmcmd": "hako cmd", "aicli": "hako"}
