package host

import (
	"os"
	"path/filepath"

	"hako/internal/fault"
	"hako/internal/host/cage"
)

// secretNames are where people keep their keys, below a home directory. When
// somebody works in their home directory, programs still do not see them.
var secretNames = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/hub", ".config/hako", ".local/share/keyrings", ".local/state/hako",
	".netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".password-store", ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium",
	".bash_history", ".zsh_history", ".python_history", ".aicli.json", ".llmcmdrc", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json",
}

// secretPlaces lists those of them that lie below a root.
func secretPlaces(root string) (list []string) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	if home, err = realPath(home); err != nil || !below(root, home) {
		return nil
	}
	for _, name := range secretNames {
		path := filepath.Join(home, name)
		if _, err := os.Lstat(path); err == nil {
			list = append(list, path)
		}
	}
	return list
}

// exposed refuses a root whose secrets cannot be hidden from programs.
func exposed(root string, level cage.Level) error {
	places := secretPlaces(root)
	if level != cage.LandlockOnly || len(places) == 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Denied, Op: "open root", Subject: root, Why: places[0] + " lies in it and cannot be hidden at the level " + level.String(),
		Hint: "work in the directory of a project: --root DIR"}
}
