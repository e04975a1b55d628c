package shell

import (
	"fmt"
	"strconv"
	"strings"
)

// signals are the conditions that trap knows, in the order it lists them; the
// place of the real ones is their number.
var signals = strings.Fields(
	"EXIT HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS DEBUG ERR RETURN")

// signalName returns the name of a condition without SIG.
func signalName(s string) (string, error) {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < 32 {
		return signals[n], nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	for _, known := range signals {
		if name == known {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s: invalid signal specification", s)
}

func (p *proc) trapCmd(args []string) error {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		return p.listTraps(nil)
	case args[0] == "-p":
		return p.listTraps(args[1:])
	case args[0] == "-l":
		return nil
	}
	action, names := args[0], args[1:]
	if len(names) == 0 {
		action, names = "-", args
	}
	status := 0
	for _, arg := range names {
		name, err := signalName(arg)
		if err != nil {
			p.errorf("trap: %v", err)
			status = 1
			continue
		}
		p.setTrap(name, action)
	}
	return asStatus(status)
}

func (p *proc) setTrap(name, action string) {
	p.outerTraps = nil
	if p.traps == nil {
		p.traps = map[string]string{}
	}
	if action == "-" {
		p.dropTrap(name)
		return
	}
	if err := p.vars.charge(int64(len(action) - len(p.traps[name]))); err != nil {
		p.stop(err)
		return
	}
	p.traps[name] = action
}

// dropTrap forgets a trap and gives back what was charged for it.
func (p *proc) dropTrap(name string) {
	_ = p.vars.charge(-int64(len(p.traps[name])))
	delete(p.traps, name)
}

// listTraps prints the commands that would set the traps again. A subshell
// that has set none shows those of its parent: old=$(trap -p EXIT).
func (p *proc) listTraps(args []string) error {
	names, status := signals, 0
	if len(args) > 0 {
		names = nil
	}
	for _, arg := range args {
		name, err := signalName(arg)
		if err != nil {
			p.errorf("trap: %v", err)
			status = 1
			continue
		}
		names = append(names, name)
	}
	traps := p.traps
	if p.outerTraps != nil {
		traps = p.outerTraps
	}
	for _, name := range names {
		if action, ok := traps[name]; ok {
			p.print("trap -- " + p.quoteAlways(action) + " " + longSignal(name))
		}
	}
	return asStatus(status)
}

func longSignal(name string) string {
	switch name {
	case "EXIT", "DEBUG", "ERR", "RETURN":
		return name
	}
	return "SIG" + name
}

// trap runs the action set for a signal, if any.
func (p *proc) trap(name string) {
	src, ok := p.traps[name]
	if !ok || p.trapping || src == "" {
		return
	}
	p.trapping = true
	status := p.status
	p.eval(src)
	if p.flow != exiting {
		p.status = status
	}
	p.trapping = false
}

// exitTrap runs the EXIT action when a process ends, whatever ended it, unless
// it is being stopped.
func (p *proc) exitTrap() {
	if src, ok := p.traps["EXIT"]; ok && p.fatal == nil && src != "" {
		p.dropTrap("EXIT")
		status := p.status
		p.flow = next
		p.eval(src)
		if p.flow != exiting {
			p.status = status
		}
	}
}

// keptTraps returns the traps that a function does not inherit and hides them.
func (p *proc) keptTraps() map[string]string {
	if len(p.traps) == 0 {
		return nil
	}
	kept := map[string]string{}
	for _, name := range []string{"ERR", "DEBUG", "RETURN"} {
		on := p.opts.functrace
		if name == "ERR" {
			on = p.opts.errtrace
		}
		if action, ok := p.traps[name]; ok && !on {
			kept[name] = action
			delete(p.traps, name)
		}
	}
	return kept
}

// bringBack restores the traps a function did not inherit, except those it
// has set anew.
func (p *proc) bringBack(kept map[string]string) {
	for name, action := range kept {
		if _, ok := p.traps[name]; !ok {
			p.traps[name] = action
		} else {
			_ = p.vars.charge(-int64(len(action)))
		}
	}
}
