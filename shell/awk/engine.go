package awk

import rx "hako/shell/regex"

func compileEngine(ere string, fold bool) (engine, error) {
	return rx.Compile(ere, rx.Options{Syntax: rx.ERE, Fold: fold, BracketEscapes: true})
}
