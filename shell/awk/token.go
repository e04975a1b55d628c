package awk

// A token is one kind of word in the source.
type token uint8

const (
	tEOF token = iota
	tNewline
	tLbrace
	tRbrace
	tLparen
	tRparen
	tLbracket
	tRbracket
	tSemi
	tComma
	tPlus
	tMinus
	tStar
	tSlash
	tPercent
	tPow
	tNot
	tGt
	tLt
	tPipe
	tCoproc
	tQuestion
	tColon
	tMatch
	tNoMatch
	tDollar
	tAssign
	tAddAssign
	tSubAssign
	tMulAssign
	tDivAssign
	tModAssign
	tPowAssign
	tIncr
	tDecr
	tAnd
	tOr
	tLe
	tGe
	tEq
	tNe
	tAppend
	tNumber
	tString
	tName
	tFuncName // a name with "(" directly behind it
	tBuiltin
	tBegin
	tEnd
	tBeginFile
	tEndFile
	tFunction
	tIf
	tElse
	tWhile
	tFor
	tDo
	tBreak
	tContinue
	tNext
	tNextFile
	tExit
	tReturn
	tDelete
	tIn
	tGetline
	tPrint
	tPrintf
	tSwitch
	tCase
	tDefault
)

var keywords = map[string]token{
	"BEGIN": tBegin, "END": tEnd, "BEGINFILE": tBeginFile, "ENDFILE": tEndFile,
	"function": tFunction, "func": tFunction, "if": tIf, "else": tElse, "while": tWhile, "for": tFor, "do": tDo,
	"break": tBreak, "continue": tContinue, "next": tNext, "nextfile": tNextFile, "exit": tExit, "return": tReturn,
	"delete": tDelete, "in": tIn, "getline": tGetline, "print": tPrint, "printf": tPrintf,
	"switch": tSwitch, "case": tCase, "default": tDefault,
}

// operators lists the operators by length, so that the longest is tried first.
var operators = [...]map[string]token{
	3: {"**=": tPowAssign},
	2: {
		"+=": tAddAssign, "-=": tSubAssign, "*=": tMulAssign, "/=": tDivAssign, "%=": tModAssign, "^=": tPowAssign,
		"++": tIncr, "--": tDecr, "&&": tAnd, "||": tOr, "<=": tLe, ">=": tGe, "==": tEq, "!=": tNe, "!~": tNoMatch,
		">>": tAppend, "**": tPow, "|&": tCoproc,
	},
	1: {
		"{": tLbrace, "}": tRbrace, "(": tLparen, ")": tRparen, "[": tLbracket, "]": tRbracket, ";": tSemi, ",": tComma,
		"+": tPlus, "-": tMinus, "*": tStar, "/": tSlash, "%": tPercent, "^": tPow, "!": tNot, ">": tGt, "<": tLt,
		"|": tPipe, "?": tQuestion, ":": tColon, "~": tMatch, "$": tDollar, "=": tAssign, "\n": tNewline,
	},
}
