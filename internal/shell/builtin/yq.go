package builtin

import "hako/internal/shell"

var yqCmd = shell.Command{Name: "yq"}
