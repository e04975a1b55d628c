package tool

import (
	"maps"
	"slices"
	"strings"
)

// An operand kind says what the words are that are no options.
type operandKind uint8

const (
	files      operandKind = iota // every one is a file
	texts                         // none is a file
	textFirst                     // the first is a text unless an option gave it
	sedScript                     // the same, and the text is a script of sed
	awkProgram                    // the first is a program of awk, the others are files and assignments
	addresses                     // every one is a URL
)

// textFirst reports whether the first operand is no file.
func (k operandKind) textFirst() bool { return k == textFirst || k == sedScript || k == awkProgram }

// A reader is a command that only reads, with the options that keep it so. An
// option that is not listed is refused: a forgotten one must not write a file.
//
// The list has one word per option, its names separated by commas; the marks
// behind it are its values: ':' a text, '@' a file, '?' a text in the same word.
type reader struct {
	options  string
	operands operandKind
	most     int               // operands at most; 0 means any number
	number   bool              // takes -5 for five lines
	given    string            // the options that stand for the first text
	never    map[string]string // options worth an explanation
	join     string            // options whose value is joined to them, for the command takes it only so
	posix    bool              // what follows the first operand is no option
	sandbox  bool              // always gets the option --sandbox
	measures string            // the only option with which it shows nothing of a file, which need not be text then
}

const (
	grepOptions = "E,extended-regexp F,fixed-strings G,basic-regexp P,perl-regexp e,regexp: f,file@ i,ignore-case y no-ignore-case " +
		"w,word-regexp x,line-regexp v,invert-match c,count n,line-number b,byte-offset l,files-with-matches L,files-without-match " +
		"o,only-matching q,quiet,silent s,no-messages h,no-filename H,with-filename m,max-count: A,after-context: B,before-context: " +
		"C,context: color,colour? a,text I binary-files: z,null-data Z,null T,initial-tab line-buffered label: U,binary"
	sortOptions = "b,ignore-leading-blanks d,dictionary-order f,ignore-case g,general-numeric-sort i,ignore-nonprinting M,month-sort " +
		"h,human-numeric-sort n,numeric-sort R,random-sort r,reverse V,version-sort sort: k,key: t,field-separator: c C check? " +
		"m,merge s,stable u,unique z,zero-terminated S,buffer-size: parallel: debug"
	columnOptions = "t,table s,separator: o,output-separator: N,table-columns: R,table-right: H,table-hide: O,table-order: " +
		"l,table-columns-limit: d,table-noheadings L,keep-empty-lines J,json n,table-name: x,fillrows c,output-width: " +
		"e,table-header-repeat E,table-noextreme: T,table-truncate: W,table-wrap:"
	diffOptions = "u U,unified? c C,context? y,side-by-side W,width: normal q,brief s,report-identical-files a,text " +
		"i,ignore-case w,ignore-all-space b,ignore-space-change Z,ignore-trailing-space E,ignore-tab-expansion B,ignore-blank-lines " +
		"I,ignore-matching-lines: strip-trailing-cr L,label: p,show-c-function F,show-function-line: suppress-common-lines left-column " +
		"d,minimal t,expand-tabs T,initial-tab color?"
	jqOptions = "r,raw-output j,join-output a,ascii-output c,compact-output C,color-output M,monochrome-output S,sort-keys s,slurp " +
		"n,null-input R,raw-input e,exit-status f,from-file@ tab indent: stream stream-errors seq raw-output0 " +
		"arg:: argjson:: slurpfile:@ rawfile:@ args jsonargs"
	nlOptions = "b,body-numbering: h,header-numbering: f,footer-numbering: n,number-format: w,number-width: s,number-separator: " +
		"v,starting-line-number: i,line-increment: l,join-blank-lines: d,section-delimiter: p,no-renumber"
)

var (
	noWalk   = map[string]string{"r": "it searches directories", "R": "it searches directories", "recursive": "it searches directories"}
	noFollow = map[string]string{"f": "it never ends", "F": "it never ends", "follow": "it never ends"}
	noOutput = map[string]string{"o": "it writes a file", "output": "it writes a file"}
	noScript = map[string]string{"f": "its program could reach for files and commands unseen", "file": "its program could reach for files and commands unseen",
		"i": "it writes the file", "e": "the program is the first word"}
	noEdit = map[string]string{"i": "it writes the file", "in-place": "it writes the file", "f": "its script could write files unseen", "file": "its script could write files unseen"}
)

// readers are the commands there are.
var readers = map[string]reader{
	"awk":    {options: "F,field-separator: v,assign: k,csv S,sandbox", operands: awkProgram, posix: true, sandbox: true, never: noScript},
	"cat":    {options: "n,number b,number-nonblank s,squeeze-blank E,show-ends T,show-tabs v,show-nonprinting A,show-all e t u"},
	"column": {options: columnOptions},
	"comm":   {options: "1 2 3 check-order nocheck-order output-delimiter: total z,zero-terminated", most: 2},
	"curl":   {options: curlOptions, operands: addresses},
	"cut":    {options: "b,bytes: c,characters: f,fields: d,delimiter: s,only-delimited complement output-delimiter: z,zero-terminated n"},
	"diff":   {options: diffOptions, most: 2, number: true, join: "-U -C", never: noWalk},
	"egrep":  {options: grepOptions, operands: textFirst, number: true, given: "e f", never: noWalk},
	"fgrep":  {options: grepOptions, operands: textFirst, number: true, given: "e f", never: noWalk},
	"fold":   {options: "w,width: s,spaces b,bytes", number: true},
	"grep":   {options: grepOptions, operands: textFirst, number: true, given: "e f", never: noWalk},
	"head":   {options: "n,lines: c,bytes: q,quiet,silent v,verbose z,zero-terminated", number: true},
	"join":   {options: "1: 2: j: t: a: v: e: o: i,ignore-case header check-order nocheck-order z,zero-terminated", most: 2},
	"iconv":  {options: "f,from-code: t,to-code: c l,list s,silent", never: noOutput},
	"jq":     {options: jqOptions, operands: textFirst, given: "f"},
	"nl":     {options: nlOptions},
	"paste":  {options: "s,serial d,delimiters: z,zero-terminated"},
	"rev":    {},
	"sed":    {options: "n,quiet,silent e,expression: E,r,regexp-extended s,separate z,null-data l,line-length: u,unbuffered posix debug sandbox", operands: sedScript, given: "e", never: noEdit, sandbox: true},
	"sort":   {options: sortOptions, never: noOutput},
	"tac":    {options: "b,before r,regex s,separator:"},
	"tail":   {options: "n,lines: c,bytes: q,quiet,silent v,verbose z,zero-terminated", number: true, never: noFollow},
	"tr":     {options: "c,complement C d,delete s,squeeze-repeats t,truncate-set1", operands: texts},
	"uniq":   {options: "c,count d,repeated D all-repeated? u,unique i,ignore-case f,skip-fields: s,skip-chars: w,check-chars: z,zero-terminated", most: 1},
	"wc":     {options: "l,lines w,words c,bytes m,chars L,max-line-length total:", measures: "c"},
}

// Names lists the commands that execute knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(readers)) }

// allowed is the hint of every refusal that is about the command's form.
func allowed() string {
	return "allowed are simple commands joined by |, of " + strings.Join(Names(), ", ")
}
