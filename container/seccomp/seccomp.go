// Package seccomp says which system calls the processes of a container may make.
//
// Inside is one list of what is allowed, in the form that a Docker engine reads. What is not in it, the kernel
// refuses with EPERM: a call that is added to Linux tomorrow is refused until somebody looks at it here. Deliberately
// not here: the filter of programs on the host, which has another list (see package cage), and anything by which an
// engine is told the profile.
//
// The rule to keep: a call is allowed by number or by comparing whole values or masked bits with what is wanted,
// never by what it must not be. The kernel cuts most arguments to 32 bits, a filter compares 64; whoever asks "is it
// not X" lets through X with a bit set above.
package seccomp

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// Profile returns the profile as JSON, for the security option "seccomp=" of a container. It is for amd64 and arm64.
// Programs for 32 bit processors end with SIGSYS: theirs is a second, larger door to the same kernel.
func Profile() string {
	text, err := json.Marshal(profile())
	if err != nil {
		panic(err) // nothing in it can be without a spelling
	}
	return string(text)
}

// The form that engines read.
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

// A rule allows a call if all its conditions hold. Several rules may be about
// the same call; one that holds is enough.
type rule struct {
	name string
	when []condition
}

func is(index uint, value uint64) condition {
	return condition{Index: index, Value: value, Op: "SCMP_CMP_EQ"}
}

// bits compares what is left of an argument under a mask.
func bits(index uint, mask, value uint64) condition {
	return condition{Index: index, Value: mask, Two: value, Op: "SCMP_CMP_MASKED_EQ"}
}

// What sockets are made of.
const (
	familyUnix    = 1
	familyIPv4    = 2
	familyIPv6    = 10
	familyNetlink = 16

	typeMask     = 0xf // besides it there are flags
	typeStream   = 1
	typeDatagram = 2

	protocolAny   = 0
	protocolTCP   = 6
	protocolUDP   = 17
	netlinkRoutes = 0 // which interfaces and addresses there are
)

// What files are made of.
const (
	kindMask   = 0o170000
	kindNone   = 0 // stands for a plain file
	kindFIFO   = 0o010000
	kindPlain  = 0o100000
	kindSocket = 0o140000
)

// What a process says about how it wants to be treated.
const (
	defaultPersonality = 0
	sameAddresses      = 0x0040000 // sanitizers and debuggers need it, and it weakens nobody else
	askPersonality     = 0xffffffff
)

// newSpaces are the flags of clone that make namespaces. In a user namespace of
// its own a process has every capability, and most holes of the kernel need one.
const newSpaces = 0x00020000 | // mounts
	0x02000000 | 0x04000000 | 0x08000000 | // cgroups, host name, shared memory
	0x10000000 | 0x20000000 | 0x40000000 // users, processes, network

// bounded returns what is allowed with certain arguments alone.
func bounded() []rule {
	rules := []rule{
		{"clone", []condition{bits(0, newSpaces, 0)}},
		// Pairs are for local sockets; the kernel knows them nowhere else.
		{"socketpair", []condition{is(0, familyUnix)}},
		{"socket", []condition{is(0, familyUnix)}},
		// A netlink socket is always a raw one; what it can ask is its protocol.
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
