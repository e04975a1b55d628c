package awk

import "fmt"

func (c *compiler) stmt(s stmt) stmtFn {
	switch s := s.(type) {
	case *exprStmt:
		return c.effect(s.e)
	case *printStmt:
		return c.print(s)
	case *block:
		return sequence(c.stmts(s.list))
	case *ifStmt:
		return c.ifStmt(s)
	case *whileStmt:
		return c.loop(c.cond(s.cond), c.stmt(s.body), nil)
	case *forStmt:
		return c.forStmt(s)
	case *doStmt:
		return c.do(s)
	case *forIn:
		return c.forIn(s)
	case *jump:
		to := s.to
		return func(*machine) ctl { return to }
	case *exitStmt:
		return c.exit(s)
	case *returnStmt:
		return c.returns(s)
	case *deleteStmt:
		return c.delete(s)
	case *switchStmt:
		return c.switchStmt(s)
	}
	panic(&fatal{0, fmt.Sprintf("cannot compile %T", s)})
}

// effect compiles an expression whose result nobody wants.
func (c *compiler) effect(e expr) stmtFn {
	switch natureOf(e) {
	case yieldsNum:
		f := c.naturalNum(e)
		return func(m *machine) ctl { f(m); return ctlNone }
	case yieldsStr:
		f := c.naturalStr(e)
		return func(m *machine) ctl { f(m); return ctlNone }
	}
	f := c.naturalVal(e)
	return func(m *machine) ctl { f(m); return ctlNone }
}

func sequence(list []stmtFn) stmtFn {
	switch len(list) {
	case 0:
		return func(*machine) ctl { return ctlNone }
	case 1:
		return list[0]
	case 2:
		a, b := list[0], list[1]
		return func(m *machine) ctl {
			if c := a(m); c != ctlNone {
				return c
			}
			return b(m)
		}
	}
	return func(m *machine) ctl {
		for _, s := range list {
			if c := s(m); c != ctlNone {
				return c
			}
		}
		return ctlNone
	}
}

func (c *compiler) ifStmt(s *ifStmt) stmtFn {
	cond, yes := c.cond(s.cond), c.stmt(s.yes)
	if s.not == nil {
		return func(m *machine) ctl {
			if cond(m) {
				return yes(m)
			}
			return ctlNone
		}
	}
	no := c.stmt(s.not)
	return func(m *machine) ctl {
		if cond(m) {
			return yes(m)
		}
		return no(m)
	}
}

// loop runs body while cond holds; post, if any, between two rounds.
func (c *compiler) loop(cond condFn, body, post stmtFn) stmtFn {
	return func(m *machine) ctl {
		for cond(m) {
			m.tick()
			switch end := body(m); end {
			case ctlNone, ctlContinue:
			case ctlBreak:
				return ctlNone
			default:
				return end
			}
			if post != nil {
				post(m)
			}
		}
		return ctlNone
	}
}

func (c *compiler) forStmt(s *forStmt) stmtFn {
	cond := func(*machine) bool { return true }
	if s.cond != nil {
		cond = c.cond(s.cond)
	}
	var post stmtFn
	if s.post != nil {
		post = c.stmt(s.post)
	}
	loop := c.loop(cond, c.stmt(s.body), post)
	if s.init == nil {
		return loop
	}
	init := c.stmt(s.init)
	return func(m *machine) ctl {
		init(m)
		return loop(m)
	}
}

func (c *compiler) do(s *doStmt) stmtFn {
	body, cond := c.stmt(s.body), c.cond(s.cond)
	return func(m *machine) ctl {
		for {
			m.tick()
			switch end := body(m); end {
			case ctlNone, ctlContinue:
			case ctlBreak:
				return ctlNone
			default:
				return end
			}
			if !cond(m) {
				return ctlNone
			}
		}
	}
}

func (c *compiler) forIn(s *forIn) stmtFn {
	set, arr, body := c.set(s.key), c.array(s.array), c.stmt(s.body)
	return func(m *machine) ctl {
		for _, key := range m.keys(arr(m)) {
			m.tick()
			set(m, fromOutside(key))
			switch end := body(m); end {
			case ctlNone, ctlContinue:
			case ctlBreak:
				return ctlNone
			default:
				return end
			}
		}
		return ctlNone
	}
}

func (c *compiler) exit(s *exitStmt) stmtFn {
	if s.code == nil {
		return func(*machine) ctl { return ctlExit }
	}
	code := c.num(s.code)
	return func(m *machine) ctl {
		m.status = whole(code(m)) & 0xff
		return ctlExit
	}
}

func (c *compiler) returns(s *returnStmt) stmtFn {
	if s.value == nil {
		return func(m *machine) ctl { m.ret = value{}; return ctlReturn }
	}
	v := c.val(s.value)
	return func(m *machine) ctl { m.ret = v(m); return ctlReturn }
}

func (c *compiler) delete(s *deleteStmt) stmtFn {
	arr := c.array(s.array)
	if s.subs == nil {
		return func(m *machine) ctl { m.empty(arr(m)); return ctlNone }
	}
	key := c.keys(s.subs)
	return func(m *machine) ctl {
		k := string(key(m))
		m.remove(arr(m), k)
		return ctlNone
	}
}

func (c *compiler) switchStmt(s *switchStmt) stmtFn {
	on := c.val(s.on)
	tests := make([]func(*machine, *value) bool, len(s.cases))
	bodies := make([]stmtFn, len(s.cases))
	fallback := len(s.cases)
	for i, k := range s.cases {
		bodies[i] = sequence(c.stmts(k.body))
		if k.value == nil {
			fallback = i
		} else {
			tests[i] = c.caseTest(k.value)
		}
	}
	return func(m *machine) ctl {
		v := on(m)
		at := fallback
		for i, test := range tests {
			if test != nil && test(m, &v) {
				at = i
				break
			}
		}
		for ; at < len(bodies); at++ {
			if end := bodies[at](m); end == ctlBreak {
				return ctlNone
			} else if end != ctlNone {
				return end
			}
		}
		return ctlNone
	}
}

// caseTest compiles a case: a pattern is matched, a value compared.
func (c *compiler) caseTest(e expr) func(*machine, *value) bool {
	if lit, ok := e.(*regexLit); ok {
		re := c.regexLit(lit)
		return func(m *machine, v *value) bool { return m.matches(re, m.str(v)) }
	}
	f := c.val(e)
	return func(m *machine, v *value) bool {
		x := f(m)
		v.examine()
		if (x.k == number) != (v.k != text) {
			return false
		}
		return m.order(v, &x) == 0
	}
}
