// Package seccomp is the system call filter of containers.
//
// It lists the allowed calls in the form of a Docker profile. The kernel refuses all others with EPERM, including
// those of future versions. Not here: the filter of programs on the host (package host/sandbox).
//
// The rule to keep: a call is allowed by number or by comparing whole values or masked bits with a wanted value,
// never by an unwanted one. The kernel truncates most arguments to 32 bits, a filter compares 64: "is it not X" would
// let X pass with a higher bit set.
package seccomp

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// Profile returns the profile as JSON, for the security option "seccomp=" of a container. It is for amd64 and arm64.
// 32 bit programs end with SIGSYS: they would use a second, larger interface of the kernel.
func Profile() string {
	text, err := json.Marshal(profile())
	if err != nil {
		panic(err) // it can always be encoded
	}
	return string(text)
}

// The form of a profile.
type (
	document struct {
		Default  string  `json:"defaultAction"`
		Machines []arch  `json:"archMap"`
		Rules    []entry `json:"syscalls"`
	}
	arch struct {
		Name string   `json:"architecture"`
		Also []string `json:"subArchitectures"`
	}
	entry struct {
		Names  []string    `json:"names"`
		Action string      `json:"action"`
		Errno  *uint       `json:"errnoRet,omitempty"`
		If     []condition `json:"args"`
	}
	condition struct {
		Index uint   `json:"index"`
		Value uint64 `json:"value"`
		Two   uint64 `json:"valueTwo"`
		Op    string `json:"op"`
	}
)

const (
	allow  = "SCMP_ACT_ALLOW"
	refuse = "SCMP_ACT_ERRNO"

	noSuchCall uint = 38 // ENOSYS
)

//go:embed calls.txt
var callsText string

func profile() document {
	d := document{
		Default:  refuse,
		Machines: []arch{{"SCMP_ARCH_X86_64", []string{}}, {"SCMP_ARCH_AARCH64", []string{}}},
		Rules:    unconditional(callsText),
	}
	for _, r := range bounded() {
		d.Rules = append(d.Rules, entry{Names: []string{r.name}, Action: allow, If: r.when})
	}
	return d
}

// unconditional reads calls.txt: "group: name name…", with more names on lines that begin with a blank. The calls of the
// group missing are answered as by a kernel that is too old to have them.
func unconditional(text string) (rules []entry) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		if group, rest, ok := strings.Cut(line, ":"); ok {
			e := entry{Action: allow, If: []condition{}}
			if group == "missing" {
				errno := noSuchCall
				e.Action, e.Errno = refuse, &errno
			}
			line, rules = rest, append(rules, e)
		}
		last := &rules[len(rules)-1]
		last.Names = append(last.Names, strings.Fields(line)...)
	}
	return rules
}

// A rule allows a call if all its conditions hold. If there are several rules for a call, one is enough.
type rule struct {
	name string
	when []condition
}

func is(index uint, value uint64) condition {
	return condition{Index: index, Value: value, Op: "SCMP_CMP_EQ"}
}

// bits compares an argument under a mask.
func bits(index uint, mask, value uint64) condition {
	return condition{Index: index, Value: mask, Two: value, Op: "SCMP_CMP_MASKED_EQ"}
}

// Arguments of socket.
const (
	familyUnix    = 1
	familyIPv4    = 2
	familyIPv6    = 10
	familyNetlink = 16

	typeMask     = 0xf // the rest are flags
	typeStream   = 1
	typeDatagram = 2

	protocolAny   = 0
	protocolTCP   = 6
	protocolUDP   = 17
	netlinkRoutes = 0 // lists interfaces and addresses
)

// File types for mknod.
const (
	kindMask   = 0o170000
	kindNone   = 0 // means a regular file
	kindFIFO   = 0o010000
	kindPlain  = 0o100000
	kindSocket = 0o140000
)

// Arguments of personality.
const (
	defaultPersonality = 0
	sameAddresses      = 0x0040000 // for sanitizers and debuggers; it weakens nobody else
	askPersonality     = 0xffffffff
)

// newSpaces are the flags of clone that create namespaces. In its own user namespace a process has every capability,
// and most exploits of the kernel need one.
const newSpaces = 0x00020000 | // mounts
	0x02000000 | 0x04000000 | 0x08000000 | // cgroups, host name, shared memory
	0x10000000 | 0x20000000 | 0x40000000 // users, processes, network

// bounded returns the calls that are allowed only with certain arguments.
func bounded() []rule {
	rules := []rule{
		{"clone", []condition{bits(0, newSpaces, 0)}},
		// The kernel supports pairs only for local sockets.
		{"socketpair", []condition{is(0, familyUnix)}},
		{"socket", []condition{is(0, familyUnix)}},
		// A netlink socket is always raw; its protocol determines what it can ask.
		{"socket", []condition{is(0, familyNetlink), is(2, netlinkRoutes)}},
	}
	for _, family := range []uint64{familyIPv4, familyIPv6} {
		for _, p := range []struct{ kind, protocol uint64 }{
			{typeStream, protocolAny}, {typeStream, protocolTCP}, {typeDatagram, protocolAny}, {typeDatagram, protocolUDP},
		} {
			rules = append(rules, rule{"socket", []condition{is(0, family), bits(1, typeMask, p.kind), is(2, p.protocol)}})
		}
	}
	for _, value := range []uint64{defaultPersonality, sameAddresses, askPersonality} {
		rules = append(rules, rule{"personality", []condition{is(0, value)}})
	}
	for _, kind := range []uint64{kindNone, kindFIFO, kindPlain, kindSocket} { // no devices
		rules = append(rules, rule{"mknod", []condition{bits(1, kindMask, kind)}},
			rule{"mknodat", []condition{bits(2, kindMask, kind)}})
	}
	return rules
}
