// Package guest runs commands inside a container on behalf of hako outside it.
//
// Here is the outside: a [Client] talks to the guest, a [Runner] makes a client look like every other runner, and
// [Options] say how a guest is started. The inside is package server: the first process of the container, which
// listens on a socket, starts commands, passes on what they print, keeps background jobs, collects whatever ends, and
// ends what outlives its time. Deliberately not here: containers themselves, and whether something may be run, which
// is for the gate.
//
// Commands run as another user and can neither reach the guest nor its socket. For that it needs to be root in its
// container, with the capabilities SETUID, SETGID and KILL. Without root, commands run as the same user and could do
// to it what a user can do to his own processes; they still cannot use the socket, because the first process of a
// container answers only to callers outside it.
//
// The one rule to keep: what a command prints travels in frames of its own and is never looked into.
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

// Name is what the program must be called by to be the guest.
const Name = "hako-guest"

// Options say how a guest works.
type Options struct {
	Socket string // where it listens; required
	UID    int    // whom commands run as; zero means whom the guest runs as
	GID    int    // their group; zero means the number of the user
	Dir    string // where commands start unless they say otherwise; empty means /
	Home   string // their home directory; empty means what the system knows about the user, or Dir
	Spool  string // where the output of jobs is kept; empty means the temporary directory

	// Within is the directory that commands must be started in or below, after links are followed, and that the text
	// editor sees; empty means that commands start anywhere and that the editor sees Dir.
	Within string
	Make   []string // directories that are made for the user of the commands at the start; nil means none
	Disk   int64    // bytes that Within, or else Dir, may hold; zero means any

	Owner      int    // whom the socket is made by; zero means the owner of its directory
	OwnerGroup int    // its group; zero means the number of Owner
	Bridge     string // ADDRESS=SOCKET: who connects to the address inside is passed to the socket; empty means none

	Running int           // commands and jobs at the same time; zero means 512
	Links   int           // connections at the same time; zero means 256
	Keep    int           // jobs that have ended and can still be asked about; zero means 50
	Log     int64         // bytes of a job's output that are kept; zero means 64 MB
	Grace   time.Duration // what processes get to end by themselves when the guest stops; zero means 10 s
}

// flags ties the options to their spelling. As they are is how they stay where nothing is said.
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

// A colonList is several words in one, with colons between them.
type colonList []string

func (l *colonList) String() string { return strings.Join(*l, ":") }

func (l *colonList) Set(text string) error {
	*l = strings.Split(text, ":")
	return nil
}

// Args returns the options as the words that [Parse] reads.
func (o Options) Args() []string {
	var args []string
	o.flags().VisitAll(func(f *flag.Flag) {
		if value := f.Value.String(); value != "" && value != "0" && value != "0s" {
			args = append(args, "-"+f.Name+"="+value)
		}
	})
	return args
}

// Parse reads what [Options.Args] wrote.
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
		// They could take the socket away and put their own in its place.
		return o, badArgs("commands would run as the owner of the socket, user " + strconv.Itoa(o.UID))
	}
	return o, o.check()
}

// check refuses paths that depend on where the guest happens to stand.
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
