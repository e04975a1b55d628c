// Package guest runs commands inside a container on behalf of hako outside it.
//
// This is the outside: a [Client] talks to the guest, a [Runner] makes a client a run.Runner, and [Options] configure
// a guest. The inside is package server: process 1 of the container, which listens on a socket, runs commands and
// background jobs, streams their output, reaps processes, and ends them on timeout. Not here: containers themselves,
// and policy, which is for the gate.
//
// Commands run as another user and can reach neither the guest nor its socket. For that it needs to be root in its
// container, with the capabilities SETUID, SETGID and KILL. Without root, commands run as the same user and could
// trace or kill it; they still cannot use the socket, because process 1 answers only callers outside of its
// container.
//
// The rule to keep: output of a command is sent in its own frames and is never parsed.
package guest

import (
	"flag"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"hako/run/fault"
)

// Name is the program name of the guest.
const Name = "hako-guest"

// Options configure a guest.
type Options struct {
	Socket string // path to listen on; required
	UID    int    // user ID of the commands; zero means that of the guest
	GID    int    // group ID of the commands; zero means the user ID
	Dir    string // default working directory of commands; empty means /
	Home   string // home directory of the commands; empty means that of the user, or Dir
	Spool  string // directory for the output of jobs; empty means the temporary directory

	// Within is the directory that commands must start in or below, after resolving links, and that the text editor
	// sees; empty means that commands start anywhere and that the editor sees Dir.
	Within string
	Make   []string // directories to create for the user of the commands; nil means none
	Disk   int64    // size limit of Within, or else Dir, in bytes; zero means none

	Owner      int    // user ID of the socket's owner; zero means the owner of its directory
	OwnerGroup int    // group ID; zero means Owner
	Bridge     string // ADDRESS=SOCKET: connections to the address inside are forwarded to the socket; empty means none

	Running int           // concurrent commands and jobs; zero means 512
	Links   int           // concurrent connections; zero means 256
	Keep    int           // number of ended jobs to keep; zero means 50
	Log     int64         // bytes of a job's output to keep; zero means 64 MB
	Grace   time.Duration // for processes to end by themselves when the guest stops; zero means 10 s
}

// flags defines a flag for each option. The current values are the defaults.
func (o *Options) flags() *flag.FlagSet {
	f := flag.NewFlagSet(Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.Socket, "socket", o.Socket, "")
	f.IntVar(&o.UID, "uid", o.UID, "")
	f.IntVar(&o.GID, "gid", o.GID, "")
	f.StringVar(&o.Dir, "dir", o.Dir, "")
	f.StringVar(&o.Home, "home", o.Home, "")
	f.StringVar(&o.Spool, "spool", o.Spool, "")
	f.StringVar(&o.Within, "within", o.Within, "")
	f.Var((*colonList)(&o.Make), "make", "")
	f.Int64Var(&o.Disk, "disk", o.Disk, "")
	f.IntVar(&o.Owner, "owner", o.Owner, "")
	f.IntVar(&o.OwnerGroup, "owner-group", o.OwnerGroup, "")
	f.StringVar(&o.Bridge, "bridge", o.Bridge, "")
	f.IntVar(&o.Running, "running", o.Running, "")
	f.IntVar(&o.Links, "links", o.Links, "")
	f.IntVar(&o.Keep, "keep", o.Keep, "")
	f.Int64Var(&o.Log, "log", o.Log, "")
	f.DurationVar(&o.Grace, "grace", o.Grace, "")
	return f
}

// A colonList is a list with colons between its elements.
type colonList []string

func (l *colonList) String() string { return strings.Join(*l, ":") }

func (l *colonList) Set(text string) error {
	*l = strings.Split(text, ":")
	return nil
}

// Args returns the options as arguments for [Parse].
func (o Options) Args() []string {
	var args []string
	o.flags().VisitAll(func(f *flag.Flag) {
		if value := f.Value.String(); value != "" && value != "0" && value != "0s" {
			args = append(args, "-"+f.Name+"="+value)
		}
	})
	return args
}

// Parse parses the arguments of [Options.Args].
func Parse(args []string) (Options, error) {
	var o Options
	f := o.flags()
	err := f.Parse(args)
	switch {
	case err != nil:
		return o, badArgs(err.Error())
	case f.NArg() > 0:
		return o, badArgs("nothing is expected after the options, not " + strconv.Quote(f.Arg(0)))
	case o.Socket == "":
		return o, badArgs("there is no -socket")
	case min(o.UID, o.GID, o.Owner, o.OwnerGroup, o.Running, o.Links, o.Keep) < 0 || min(o.Disk, o.Log) < 0 || o.Grace < 0:
		return o, badArgs("a number is below zero")
	case o.UID != 0 && o.UID == o.Owner:
		// They could replace the socket by their own.
		return o, badArgs("commands would run as the owner of the socket, user " + strconv.Itoa(o.UID))
	}
	return o, o.check()
}

// check refuses relative paths.
func (o Options) check() error {
	for _, dir := range append([]string{o.Within, o.Dir, o.Home}, o.Make...) {
		if dir != "" && !path.IsAbs(dir) {
			return badArgs("the path " + strconv.Quote(dir) + " is not absolute")
		}
	}
	if _, _, is := strings.Cut(o.Bridge, "="); o.Bridge != "" && !is {
		return badArgs("the bridge " + strconv.Quote(o.Bridge) + " has no =")
	}
	return nil
}

func badArgs(why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "start guest", Why: why,
		Hint: "this is a part of hako that is not for use by hand; it is started by hako env up"}
}
