// Package guest runs commands inside a container on behalf of hako outside it.
//
// Inside, [Guest] is the first process: it listens on a socket, starts commands,
// passes on what they print, keeps background jobs, collects whatever ends, and
// ends what outlives its time. Outside, a [Client] talks to it, and a [Runner]
// makes a client look like every other runner. Deliberately not here: containers
// themselves, and whether something may be run, which is for the gate.
//
// Commands run as another user and can neither reach the guest nor its socket.
// For that it needs to be root in its container, with the capabilities SETUID,
// SETGID and KILL. Without root, commands run as the same user and could do to it
// what a user can do to his own processes; they still cannot use the socket,
// because the first process of a container answers only to callers outside it.
//
// The one rule to keep: what a command prints travels in frames of its own and
// is never looked into.
package guest

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"strconv"
	"time"

	"hako/internal/fault"
)

// Name is what the guest is called by, see [Guest].
const Name = "hako-guest"

// Options say how a guest works.
type Options struct {
	Socket string // where it listens; required
	UID    int    // whom commands run as; zero means whom the guest runs as
	GID    int    // their group; zero means the number of the user
	Dir    string // where commands start unless they say otherwise; empty means /
	Home   string // their home directory; empty means what the system knows about the user, or Dir
	Spool  string // where the output of jobs is kept; empty means the temporary directory

	Running int           // commands and jobs at the same time; zero means 512
	Links   int           // connections at the same time; zero means 256
	Keep    int           // jobs that have ended and can still be asked about; zero means 50
	Log     int64         // bytes of a job's output that are kept; zero means 64 MB
	Grace   time.Duration // what processes get to end by themselves when the guest stops; zero means 10 s

	// Edit answers calls of the text editor; nil means that there is none. It
	// is called with the rights of the commands' user on files, and must do all
	// its work on the goroutine it is called on, or it does it as root.
	Edit Edit
}

// Edit does one edit: a call in, its result out.
type Edit func(ctx context.Context, call json.RawMessage) json.RawMessage

func (o Options) filled() Options {
	o.Dir = or(o.Dir, "/")
	o.Running = or(o.Running, 512)
	o.Links = or(o.Links, 256)
	o.Keep = or(o.Keep, 50)
	o.Log = or(o.Log, 64<<20)
	o.Grace = or(o.Grace, 10*time.Second)
	return o
}

func or[T comparable](value, usual T) T {
	var zero T
	if value == zero {
		return usual
	}
	return value
}

// flags ties the options to their spelling. As they are is how they stay where
// nothing is said.
func (o *Options) flags() *flag.FlagSet {
	f := flag.NewFlagSet(Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.Socket, "socket", o.Socket, "")
	f.IntVar(&o.UID, "uid", o.UID, "")
	f.IntVar(&o.GID, "gid", o.GID, "")
	f.StringVar(&o.Dir, "dir", o.Dir, "")
	f.StringVar(&o.Home, "home", o.Home, "")
	f.StringVar(&o.Spool, "spool", o.Spool, "")
	f.IntVar(&o.Running, "running", o.Running, "")
	f.IntVar(&o.Links, "links", o.Links, "")
	f.IntVar(&o.Keep, "keep", o.Keep, "")
	f.Int64Var(&o.Log, "log", o.Log, "")
	f.DurationVar(&o.Grace, "grace", o.Grace, "")
	return f
}

// Args returns the options as the words that [Guest] reads.
func (o Options) Args() []string {
	var args []string
	o.flags().VisitAll(func(f *flag.Flag) {
		if value := f.Value.String(); value != "" && value != "0" && value != "0s" {
			args = append(args, "-"+f.Name+"="+value)
		}
	})
	return args
}

func parseArgs(args []string) (Options, error) {
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
	case o.UID < 0 || o.GID < 0 || o.Running < 0 || o.Links < 0 || o.Keep < 0 || o.Log < 0 || o.Grace < 0:
		return o, badArgs("a number is below zero")
	}
	return o, nil
}

func badArgs(why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "start guest", Why: why, Hint: "this is a part of hako that is not for use by hand; it is started by hako env up"}
}
