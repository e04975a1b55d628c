package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// programDirs are the system's programs and libraries.
var programDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// settings are the parts of /etc that programs need. It is an allow list: keys and passwords are in /etc too.
var settings = []string{
	"alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "environment-modules",
	"fonts", "group",
	"inputrc", "java*", "jvm*", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl*", "locale.alias", "locale.conf",
	"localtime",
	"magic", "magic.mime", "maven", "mime.types", "nsswitch.conf", "os-release", "passwd", "perl",
	"pki/ca-trust/extracted", "pki/java", "pki/tls/cert.pem",
	"pki/tls/certs", "protocols", "python*", "R", "services", "shells", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf",
	"terminfo", "timezone", "php",
}

// networkSettings are needed if programs may use the network.
var networkSettings = []string{"/etc/hosts", "/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf",
	"/run/systemd/resolve/resolv.conf"}

// made are the files of /etc that a sandbox with mounts has of its own.
var made = []string{"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts"}

// devices are harmless devices.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// harmlessProc are readable files of the machine's own /proc and /sys.
var harmlessProc = []string{"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime",
	"/proc/version", "/proc/filesystems",
	"/proc/sys/kernel/osrelease", "/proc/sys/kernel/ostype", "/proc/sys/kernel/ngroups_max",
	"/proc/sys/kernel/cap_last_cap",
	"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/max_map_count", "/proc/sys/kernel/random", "/sys/devices/system/cpu",
	"/sys/kernel/mm/transparent_hugepage"}

// systemPaths lists existing readable paths of the system.
func systemPaths() []string {
	list := slices.Clone(programDirs)
	for _, pattern := range settings {
		found, _ := filepath.Glob("/etc/" + pattern)
		list = append(list, found...)
	}
	list = append(list, networkSettings...)
	return slices.DeleteFunc(list, func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}
