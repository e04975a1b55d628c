package shell

// ownHelp explains the commands of the shell itself. A test wants an example in each.
var ownHelp = map[string]string{
	":": `  : "${DIR:=/tmp}"        # give DIR a value if it has none
  while :; do break; done`,
	".": sourceHelp, "source": sourceHelp,
	"[": testHelp, "test": testHelp,
	"true": `  while true; do read -r line || break; done
  rm missing.txt || true  # go on whatever came of it`,
	"false": `  false || echo "that failed"
  until false; do break; done`,
	"echo": `  -n  no newline at the end
  -e  read \n, \t, \\, \0NNN, \xHH, \uHHHH; \c ends the output    -E  do not (default)

Examples:
  echo "total: $n"
  echo -e 'a\tb'
  echo -n yes > answer.txt`,
	"printf": `  -v NAME  put the text into a variable
  %s text   %d number   %x, %o hexadecimal, octal   %f, %e, %g fractions   %c one character
  %q quoted for the shell   %b text with backslashes read   %(FORMAT)T a time   %% a percent sign
The format is used again as long as there are words left.

Examples:
  printf '%s\n' "$@"
  printf '%-10s %5.2f\n' apples 1.5 pears 20
  printf -v name 'part-%03d' 7`,
	"cd": `Without a directory it goes to $HOME, with - to the one before.

  cd src/lib
  cd - && echo "back in $PWD"
  cd`,
	"pwd": `  -P  without links    -L  as one came here (default)

  pwd
  here=$(pwd)`,
	"pushd": `  pushd src
  pushd        # swap the two directories on top`,
	"popd": `  pushd src; ls; popd`,
	"dirs": `  dirs`,
	"exit": `Without a status, that of the last command counts.

  exit
  grep -q ERROR app.log && exit 1`,
	"return": `  f() { [ -n "$1" ] || return 2; echo "$1"; }
  return 1`,
	"break": `  for f in *.txt; do grep -q x "$f" && break; done
  break 2      # also ends the loop around this one`,
	"continue": `  for f in *; do [ -d "$f" ] && continue; wc -l "$f"; done
  continue 2   # goes on with the loop around this one`,
	"export": `  -n  no longer    -p  list what is exported

Examples:
  export LANG=C
  name=x; export name
  export -p`,
	"readonly": `  -a  an array    -p  list them

  readonly LIMIT=10`,
	"declare": declareHelp("declare"), "typeset": declareHelp("typeset"),
	"local": `Takes the options of declare; the variable is gone when the function ends.

  f() { local n=$1 sum=0; echo $((n + sum)); }
  local -a parts=(a b)`,
	"unset": `  -v  a variable    -f  a function    -n  a reference, not what it refers to

  unset name
  unset 'list[2]'
  unset -f f`,
	"set": `  -e  end at the first failure      -u  unset variables are errors
  -x  show commands as they run     -f  no file name patterns
  -C  > does not overwrite files    -o pipefail  a pipeline fails with any of its stages
+e and so on turn off again; -- WORDS sets $1, $2, …

Examples:
  set -euo pipefail
  set -- a b c; echo "$2"`,
	"shift": `  while [ $# -gt 0 ]; do echo "$1"; shift; done
  shift 2`,
	"shopt": `  -s  turn on    -u  turn off    -q  only the status    -p  in a form that can be run

  shopt -s nullglob globstar
  shopt -q extglob && echo on`,
	"eval": `  eval "$name=\$value"
  eval 'echo {1..'"$n"'}'`,
	"exec": `  exec > all.log 2>&1    # from here on, output goes to the file
  exec 3< in.txt; read -r line <&3
  exec sort in.txt       # nothing after it runs`,
	"command": `  -v  print what each name stands for; fails if none exists    -V  in words
  -p  with the standard path, which is the only one here

  command -v jq || echo "no jq"
  cd() { command cd "$@" && ls; }`,
	"builtin": `  cd() { builtin cd "$@" && pwd; }`,
	"type": `  -t  one word: keyword, function, builtin or file    -p, -P  the path of a file

  type ls cd
  type -t if`,
	"hash": `  hash -r`,
	"read": `  -r  backslashes are plain       -a NAME   the words become an array
  -d C  up to C, not a newline     -n, -N NUM  at most, exactly NUM characters
  -p TEXT  print TEXT first        -t SEC    wait no longer
  -u FD    from this descriptor    -s, -e    accepted
The last name gets the rest of the line; without a name it is REPLY. Fails at the end of input.

Examples:
  while IFS= read -r line; do echo "[$line]"; done < in.txt
  IFS=, read -r id name rest < row.csv
  read -ra words <<< "a b c"`,
	"mapfile": mapfileHelp("mapfile"), "readarray": mapfileHelp("readarray"),
	"let": `Fails if the last value is 0; (( … )) is the same.

  let n=3*4 n++; echo $n`,
	"getopts": `The letters are the options, with : after one that takes a value, which is in OPTARG; OPTIND is
the number of the next word. A : in front leaves the messages to you.

  while getopts "n:v" o; do case $o in n) n=$OPTARG ;; v) v=1 ;; *) exit 2 ;; esac; done`,
	"trap": `An empty action ignores, - restores. Without words it lists what is set.

  trap 'rm -f "$tmp"' EXIT
  trap 'echo "line $LINENO failed"' ERR
  trap - EXIT`,
	"wait": `  -n  for the next one that ends

  sleep 1 & wait
  wait $!; echo $?`,
	"jobs": `  -l  with ids    -p  only ids    -r  only running ones

  jobs -l`,
	"kill": `  -l  list the signals

  kill %1
  kill -TERM $!`,
	"alias": `An alias would hide what a script runs. Instead of alias ll='ls -l' write a function:

  ll() { ls -l "$@"; }
  alias ll='ls -l'   # fails`,
	"unalias": `  unalias -a`,
	"umask": `  -S, -p  accepted

  umask
  umask 022`,
	"ulimit": `What holds are the limits of the session; an error names the one that was met.

  ulimit -n`,
	"times": `  times`,
	"sh":    shellHelp("sh"), "bash": shellHelp("bash"), "llmsh": shellHelp("llmsh"),
}

const sourceHelp = `Functions and variables of the file stay; words become $1, $2, … while it runs.

  . ./lib.sh
  source settings.sh production`

const testHelp = `Files:    -e exists   -f file   -d directory   -s not empty   -L, -h link   -r -w -x readable, …
          -c -b -p -S device, pipe, socket   -k -g -u mode bits   -O -G -N own, …   -t FD terminal
          A -nt B newer   A -ot B older   A -ef B the same file
Texts:    -z empty   -n not empty   A = B   A == B   A != B   A < B   A > B
Numbers:  A -eq B   -ne   -lt   -le   -gt   -ge
Shell:    -v NAME variable is set   -R NAME it is a reference   -o NAME option is on
Together: ! EXPR   EXPR -a EXPR   EXPR -o EXPR   ( EXPR )
[[ … ]] also has && || =~ and patterns after == and needs fewer quotes. In [ ] and test, < > ( ) want quotes.

Examples:
  [ -f in.txt ] && wc -l in.txt
  if [ "$n" -gt 10 ]; then echo many; fi
  test -n "$name" || exit 2`

func declareHelp(name string) string {
	return `  -a, -A  array, array by name    -i  number          -r  unchangeable
  -l, -u  lower, upper case       -x  exported        -n  reference to another variable
  -g      not local               -p  list            -f, -F  functions, only their names

Examples:
  ` + name + ` -i n=3*4
  ` + name + ` -A color=([sky]=blue [sun]=yellow)
  ` + name + ` -p n`
}

func mapfileHelp(name string) string {
	return `  -t  without the newlines     -d C  lines end with C      -n NUM  at most NUM lines
  -s NUM  leave out the first  -O NUM  start at this index  -u FD  from this descriptor
The array is MAPFILE if none is named.

Examples:
  ` + name + ` -t lines < in.txt; echo "${#lines[@]}"
  ` + name + ` -t -d '' files < names0.txt`
}

func shellHelp(name string) string {
	return `  -c  the script is the first word    -e, -u, -x, -o NAME  as in set    -s  from standard input
Variables are inherited if exported; what the script sets is gone afterwards.

Examples:
  ` + name + ` -c 'echo "$0 $1"' name word
  ` + name + ` -e build.sh
  echo 'ls -l' | ` + name
}
