package awk

// An expr is one of the expression nodes below.
type expr any

type (
	numLit   struct{ n float64 }
	strLit   struct{ s string }
	regexLit struct {
		src  string
		line int
	}
	varRef struct {
		sym  *symbol
		line int
	}
	indexRef struct {
		array *varRef
		subs  []expr
	}
	fieldRef struct{ index expr }
	assign   struct{ left, right expr }
	update   struct { // a += b
		op          token
		left, right expr
		line        int
	}
	step struct { // ++a, a--
		left   expr
		delta  float64
		prefix bool
	}
	choice struct{ cond, yes, no expr }
	arith  struct {
		op   token
		a, b expr
		line int
	}
	compare struct {
		op   token
		a, b expr
	}
	match struct {
		not     bool
		text    expr
		pattern expr
	}
	logic struct {
		and  bool
		a, b expr
	}
	not  struct{ e expr }
	sign struct { // -e, +e
		minus bool
		e     expr
	}
	concat struct{ parts []expr }
	member struct { // (a, b) in array
		subs  []expr
		array *varRef
	}
	call struct {
		fn   *function
		name string
		args []expr
		line int
	}
	builtinCall struct {
		name string
		args []expr
		line int
	}
	getline struct {
		left expr  // nil: the record
		file expr  // nil: the main input
		cmd  token // tGetline for "command" | getline, tCoproc for |&, else tEOF
		line int
	}
	group struct { // (a, b), or a single expression in parentheses
		list []expr
		pos  int
	}
)

// A stmt is one of the statement nodes below.
type stmt any

type (
	exprStmt  struct{ e expr }
	printStmt struct {
		args   []expr
		format bool  // printf
		op     token // of the redirection; tEOF is none
		dest   expr
		line   int
	}
	ifStmt struct {
		cond     expr
		yes, not stmt
	}
	whileStmt struct {
		cond expr
		body stmt
	}
	doStmt struct {
		body stmt
		cond expr
	}
	forStmt struct {
		init, post stmt
		cond       expr
		body       stmt
	}
	forIn struct {
		key   *varRef
		array *varRef
		body  stmt
	}
	block      struct{ list []stmt }
	jump       struct{ to ctl } // break, continue, next, nextfile
	exitStmt   struct{ code expr }
	returnStmt struct{ value expr }
	deleteStmt struct {
		array *varRef
		subs  []expr // nil: all of it
	}
	switchStmt struct {
		on    expr
		cases []switchCase
	}
	switchCase struct {
		value expr // nil: default
		body  []stmt
	}
)

// A rule is a pattern with its action.
type rule struct {
	from, to expr // nil from: every record; a to makes it a range
	body     stmt // nil: print the record
}

// A function is one the program defines.
type function struct {
	name   string
	params []*symbol
	body   stmt
	line   int

	scalars, arrays int // how many of its parameters are which
	run             stmtFn
}

// A symbol is a variable: global, special or a parameter.
type symbol struct {
	name  string
	array bool
	local bool
	slot  int
}
