package policy

// programs is what is known about programs by name. What needs more than a
// list is in [command.extra]; those that run other commands are in wrappers.
var programs = map[string]program{
	// Builtins that touch no file by name.
	":": {whole: true}, "true": {whole: true}, "false": {whole: true},
	"echo": {whole: true}, "printf": {whole: true}, "exit": {args: texts}, "return": {args: texts},
	"break": {args: texts}, "continue": {args: texts}, "shift": {args: texts}, "sleep": {args: texts}, "wait": {short: "nf", args: texts}, "jobs": {short: "lpnrs", args: texts}, "kill": {whole: true},
	"pwd": {short: "LP", args: nothing}, "type": {short: "aptfP", args: texts}, "hash": {short: "r", args: texts},
	"which": {short: "as", args: texts}, "help": {short: "dms", args: texts}, "times": {args: nothing},
	"test": {whole: true}, "[": {whole: true},
	"read":   {short: "ra:d:n:N:p:st:u:e", args: texts},
	"unset":  {short: "vf", args: texts},
	"export": {short: "p", args: texts}, "declare": {short: "aAilurxpg", args: texts}, "local": {short: "aAilurx", args: texts},
	"typeset": {short: "aAilurxpg", args: texts}, "readonly": {short: "aAp", args: texts}, "let": {whole: true},
	"mapfile": {short: "d:n:O:s:tu:", args: texts}, "readarray": {short: "d:n:O:s:tu:", args: texts},
	"getopts": {args: texts}, "set": {args: texts, short: "euxvfno:B"}, "shopt": {short: "suqpo", args: texts},
	"cd": {short: "LPe", most: 1}, "pushd": {short: "n", most: 1}, "popd": {short: "n", args: texts}, "dirs": {short: "clpv", args: texts},

	// Texts in, text out.
	"seq": {short: "f:s:w#", long: "format: separator: equal-width", args: texts}, "yes": {args: texts},
	"basename": {short: "as:z", long: "multiple suffix: zero", args: texts}, "dirname": {short: "z", long: "zero", args: texts},
	"expr": {whole: true}, "factor": {args: texts}, "nproc": {long: "all ignore:", args: nothing},
	"uname": {short: "asnrvmpio", long: "all kernel-name machine", args: nothing}, "whoami": {args: nothing}, "hostname": {short: "sf", args: nothing},
	"id": {short: "ugnGrz", long: "user group groups name", args: texts}, "printenv": {short: "0", args: texts}, "arch": {args: nothing},
	"date": {short: "d:r@RuI?", long: "date: reference@ rfc-email rfc-3339: iso-8601? utc universal", args: texts},
	"cal":  {short: "13jmy", args: texts}, "numfmt": {short: "d:", long: "from: to: suffix: format: field: delimiter: header? round: padding: grouping", args: texts},
	"tr": {short: "cCdst", long: "complement delete squeeze-repeats truncate-set1", args: texts},
	"bc": {short: "lqsw", long: "mathlib quiet standard warn"},

	// Looking at files.
	"ls": {short: "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1", long: "all almost-all author escape block-size: ignore-backups color? directory classify? file-type format: full-time " +
		"group-directories-first no-group human-readable si dereference hide: hyperlink? indicator-style: inode ignore: kibibytes numeric-uid-gid literal " +
		"hide-control-chars quote-name quoting-style: reverse recursive size sort: time: time-style: tabsize: width: zero help version"},
	"cat":  {short: "AbeEnstTuv", long: "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version"},
	"head": {short: "c:n:qvz#", long: "bytes: lines: quiet silent verbose zero-terminated help version"},
	"tail": {short: "c:fFn:qs:vz#", long: "bytes: follow? lines: quiet silent retry sleep-interval: verbose zero-terminated pid: help version"},
	"grep": grepProgram, "egrep": grepProgram, "fgrep": grepProgram, "zgrep": grepProgram,
	"wc":   {short: "clmLw", long: "bytes chars lines max-line-length words total: help version"},
	"diff": {short: "abBcC:dD:eEF:iI:lL:nNpqrsS:tTuU:wW:x:X@yZ#", long: "normal brief report-identical-files context? unified? ed rcs side-by-side width: left-column suppress-common-lines show-c-function show-function-line: label: expand-tabs initial-tab tabsize: recursive no-dereference new-file unidirectional-new-file ignore-file-name-case exclude: exclude-from@ starting-file: from-file@ to-file@ ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines: text strip-trailing-cr minimal horizon-lines: speed-large-files color? help version"},
	"cmp":  {short: "bi:ln:s", long: "print-bytes ignore-initial: verbose bytes: quiet silent"}, "comm": {short: "123z", long: "check-order nocheck-order output-delimiter: total zero-terminated"},
	"tree": {short: "adfilpsughDFqrtxACJXSnvcUNL:P:I:H:T:", long: "dirsfirst noreport prune matchdirs gitignore filelimit: du si inodes sort: charset: ignore-case filesfirst"},
	"file": {short: "bihLkNnprsvzF:e:P:0d", long: "brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad separator: uncompress extension"},
	"stat": {short: "c:fLt", long: "format: printf: dereference file-system terse cached:"}, "du": {short: "abcdDhHlLmskSx0t:d:B:#", long: "all apparent-size bytes total max-depth: human-readable summarize exclude: block-size: dereference one-file-system threshold: time?"},
	"realpath": {short: "emLPqsz", long: "canonicalize-existing canonicalize-missing relative-to@ relative-base@ no-symlinks quiet"}, "readlink": {short: "femnqsvz", long: "canonicalize"},
	"md5sum": sumProgram, "sha1sum": sumProgram, "sha256sum": sumProgram, "sha512sum": sumProgram, "cksum": {}, "sum": {short: "rs"},
	"od": {short: "A:j:N:S:t:vw?abcdfilosx", long: "address-radix: skip-bytes: read-bytes: format: output-duplicates width?"}, "hexdump": {short: "bcCdn:os:vxe:", long: "canonical length: skip: no-squeezing"},
	"xxd":    {short: "abc:Ceg:il:o:prs:u", writes: true, most: 2},
	"base64": {short: "diw:", long: "decode ignore-garbage wrap:"}, "base32": {short: "diw:", long: "decode wrap:"},
	"rg": {short: "A:B:C:E:FHIM:NPST:UVabce:f@g:hij:lm:noqr:st:uvwxz.0dL", long: "after-context: before-context: context: files files-with-matches files-without-match count count-matches glob: iglob: type: type-not: type-list ignore-case smart-case case-sensitive " +
		"fixed-strings word-regexp line-regexp invert-match line-number no-line-number with-filename no-filename heading no-heading color: colors: hidden no-ignore no-ignore-vcs max-count: max-depth: max-columns: max-filesize: multiline multiline-dotall only-matching pcre2 regexp: replace: sort: sortr: stats text threads: trim unrestricted vimgrep json passthru null null-data no-messages no-config version help follow", args: textFirst},
	"fd": {short: "HIugsiFapt:e:E:d:S:l0", long: "hidden no-ignore unrestricted glob regex case-sensitive ignore-case fixed-strings absolute-path type: extension: exclude: max-depth: min-depth: size: changed-within: changed-before: max-results: color: print0 list-details", args: textFirst},

	// Reshaping text.
	"sort": {short: "bdfgiMhnRrVcCk:mo@sS:t:T@uz", long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse sort: version-sort check? key: merge output@ stable buffer-size: field-separator: parallel: unique zero-terminated debug"},
	"uniq": {short: "cdDf:is:uw:z", long: "count repeated all-repeated? skip-fields: group? ignore-case skip-chars: unique zero-terminated check-chars:", most: 1},
	"cut":  {short: "b:c:d:f:nsz", long: "bytes: characters: delimiter: fields: complement only-delimited output-delimiter: zero-terminated"},
	"nl":   {short: "b:d:f:h:i:l:n:ps:v:w:", long: "body-numbering: number-format: number-separator: number-width: starting-line-number: line-increment:"}, "rev": {}, "tac": {short: "brs:", long: "separator: before regex"},
	"paste": {short: "d:sz", long: "delimiters: serial"}, "join": {short: "a:e:ij:1:2:o:t:v:z", long: "ignore-case header check-order nocheck-order"},
	"fold": {short: "bsw:", long: "bytes spaces width:"}, "fmt": {short: "cstuw:p:g:#", long: "width: split-only uniform-spacing"}, "expand": {short: "it:", long: "initial tabs:"}, "unexpand": {short: "at:", long: "all tabs: first-only"},
	"column": {short: "tc:s:o:N:R:eJxn:", long: "table separator: output-separator: table-columns: json"}, "shuf": {short: "ei:n:o@rz", long: "echo input-range: head-count: output@ repeat zero-terminated"},
	"sed": {short: "nEre:i?l:suz", long: "quiet silent expression: in-place? line-length: null-data regexp-extended separate sandbox unbuffered posix debug zero-terminated help version", writes: true},
	"awk": awkProgram, "gawk": awkProgram, "mawk": awkProgram, "nawk": awkProgram,
	"jq": {whole: true}, "yq": {whole: true}, "strings": {short: "an:t:el:", long: "all bytes: radix:"},

	// Changing files inside the root.
	"mkdir": {short: "pvm:", long: "parents verbose mode:", writes: true}, "rmdir": {short: "pv", long: "parents verbose ignore-fail-on-non-empty", writes: true},
	"touch": {short: "acmd:hr@t:", long: "no-create date: no-dereference reference@ time:", writes: true},
	"rm":    {short: "fiIrRdv", long: "force interactive? recursive dir verbose one-file-system preserve-root?", writes: true},
	"cp":    {short: "abdfiHlLnPpRrsS:t@Tuvx", long: "archive backup? force interactive link dereference no-clobber no-dereference preserve? parents recursive suffix: target-directory@ no-target-directory update? verbose one-file-system", writes: true},
	"mv":    {short: "bfinS:t@Tuv", long: "backup? force interactive no-clobber suffix: target-directory@ no-target-directory update? verbose", writes: true},
	"ln":    {short: "bfinrsS:t@Tv", long: "backup? force interactive no-dereference relative symbolic suffix: target-directory@ no-target-directory verbose", writes: true},
	"chmod": {short: "cfvRrwxXst", long: "changes silent quiet verbose recursive", writes: true}, "tee": {short: "aip", long: "append ignore-interrupts", writes: true},
	"truncate": {short: "cor@s:", long: "no-create size: reference@", writes: true}, "mktemp": {short: "dqup@t", long: "directory quiet suffix: tmpdir@", writes: true},
	"split": {short: "a:b:C:del:n:t:ux?", long: "suffix-length: additional-suffix: bytes: numeric-suffixes? lines: number: elide-empty-files verbose", writes: true}, "csplit": {short: "b:f@kn:sz", long: "prefix@ suffix-format: digits: quiet elide-empty-files keep-files", writes: true},
	"mkfifo": {short: "m:", long: "mode:", writes: true}, "patch": {short: "p:i@NRsfbltu", long: "strip: input@ forward reverse dry-run silent quiet force backup ignore-whitespace unified", writes: true},
	"gzip": zipProgram, "gunzip": zipProgram, "zcat": zipProgram, "bzip2": zipProgram, "bunzip2": zipProgram, "bzcat": zipProgram, "xz": zipProgram, "unxz": zipProgram, "xzcat": zipProgram, "zstd": zipProgram,
	"tar": {short: "ctxruzjJZavf@C@pkmhOSUX@", long: "create list extract get append update gzip gunzip bzip2 xz zstd lzma auto-compress verbose file@ directory@ preserve-permissions keep-old-files keep-newer-files overwrite touch dereference to-stdout sparse exclude: exclude-from@ exclude-vcs exclude-vcs-ignores strip-components: no-same-owner no-same-permissions wildcards no-wildcards totals sort: mtime: owner: group: numeric-owner format: diff compare skip-old-files no-recursion", writes: true},
	"zip": {short: "0123456789rqvjuyXDoxidm", long: "recurse-paths quiet verbose junk-paths exclude include", writes: true}, "unzip": {short: "lqovnpjtuaCxd@Z1", writes: true}, "zipinfo": {short: "1lsmvhtTz"},

	// The web, to read from.
	"curl": {short: "sSfLkvgGIiH:A:e:u:b:m:o@O#NJ46w:r:", long: "silent show-error fail fail-with-body location verbose globoff get head include header: user-agent: referer: user: cookie: max-time: connect-timeout: output@ remote-name no-buffer remote-header-name compressed retry: retry-delay: retry-all-errors max-redirs: write-out: range: url: http1.1 http2 ipv4 ipv6 progress-bar create-dirs output-dir@ tlsv1.2 no-progress-meter max-filesize: request: data-urlencode: insecure", args: texts},
	"wget": {short: "qvO@P@cNST:t:U:nd46", long: "quiet verbose no-verbose output-document@ directory-prefix@ continue timestamping server-response spider timeout: tries: user-agent: header: show-progress no-check-certificate max-redirect: no-clobber content-disposition https-only timeout: wait:", args: texts},

	// Builders and interpreters: they run the repository's code, and the
	// sandbox around them is what holds.
	"make": {short: "BC@f@hiI@j?kl?L?no@pqrRsStvwW@", long: "always-make directory@ file@ makefile@ ignore-errors include-dir@ jobs? keep-going load-average? silent quiet no-print-directory print-directory dry-run just-print recon question touch trace version help warn-undefined-variables output-sync? no-builtin-rules print-data-base", args: texts},
	"npm":  {free: true}, "yarn": {free: true}, "pnpm": {free: true}, "npx": {free: true}, "pip": {free: true}, "pip3": {free: true}, "cargo": {free: true},
	"python": {whole: true}, "python3": {whole: true}, "node": {whole: true}, "ruby": {whole: true}, "perl": {whole: true}, "php": {whole: true},
	"git": {whole: true}, "go": {whole: true}, "bundle": {free: true}, "gem": {free: true}, "cmake": {free: true}, "mypy": {free: true}, "pylint": {free: true}, "gradle": {free: true}, "mvn": {free: true}, "java": {free: true}, "javac": {free: true}, "ctest": {free: true}, "tox": {free: true}, "dotnet": {free: true}, "conda": {free: true}, "mamba": {free: true}, "composer": {free: true},
}

var (
	grepProgram = program{short: "EFGPe:f@ivwxcLlm:qsbHhnoZzA:B:C:aIrRUTd:D:yu#", long: "extended-regexp fixed-strings basic-regexp perl-regexp regexp: file@ ignore-case no-ignore-case invert-match word-regexp line-regexp count color? colour? files-without-match files-with-matches max-count: only-matching quiet silent no-messages byte-offset with-filename no-filename label: line-number initial-tab null null-data after-context: before-context: context: text binary-files: devices: directories: exclude: exclude-from@ exclude-dir: include: recursive dereference-recursive line-buffered help version", args: textFirst}
	sumProgram  = program{short: "bctwz", long: "binary check tag text zero ignore-missing quiet status strict warn"}
	zipProgram  = program{short: "cdfhklnNqrtvVzT:0123456789", long: "stdout decompress force keep list name no-name quiet recursive test verbose fast best threads:", writes: true}
	awkProgram  = program{short: "F:v:", long: "field-separator: assign: re-interval posix traditional sandbox csv", args: texts}
)
