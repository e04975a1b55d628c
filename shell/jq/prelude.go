package jq

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/itchyny/gojq"
)

//go:embed prelude.jq
var preludeSource string

// preludeFuncs returns the functions written in jq by name and arity. Each is
// compiled when a program uses it.
var preludeFuncs = sync.OnceValue(func() map[string]*gojq.FuncDef {
	q, err := gojq.Parse(preludeSource + " .")
	if err != nil {
		panic(err)
	}
	funcs := make(map[string]*gojq.FuncDef, len(q.FuncDefs))
	for _, fd := range q.FuncDefs {
		funcs[fmt.Sprintf("%s/%d", fd.Name, len(fd.Args))] = fd
	}
	return funcs
})
