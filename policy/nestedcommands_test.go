package policy

import (
	"strings"
	"testing"
)

// A command that a rule denies is denied wherever a script names it.
func TestDeniedCommandsInOtherWords(t *testing.T) {
	p := containerPolicy()
	for _, src := range []string{
		// By another path.
		`cd /bin; ./rm -rf x`, `cd /; bin/rm -rf x`, `cd /usr; ./bin/rm -rf x`, `pushd /bin; ./rm -rf x`,
		`cd "$d"; ./rm -rf x`, `cd /bin; ./bash -c 'rm -rf x'`, `cd /bin; ./env rm -rf x`, `cd /usr/bin && ./chown a b`,
		`cd /bin; ./dd if=a`, `cd /; bin/dd`, `cd /usr/bin; ./setsid ls`, `cd /bin; ./rm "$x"`, `./x/sudo id`,
		`find . -execdir ./rm -rf {} +`, `cd /workspace/../usr/bin; ./watch ls`, `cd /proc/self/root/bin; ./ls`,
		`cd /usr/bin; ./git push`,
		// By a builtin.
		`hash -p /bin/rm ls; ls -rf x`, `builtin hash -p /bin/rm ls`, `BASH_CMDS[ls]=/bin/rm; ls -rf x`,
		`BASH_ALIASES[ls]='rm -rf'`, `BASH_CMDS=([ls]=/bin/rm)`, `jobs -x rm -rf x`, `jobs -x chown a b`,
		`mapfile -C 'rm -rf x #' -c 1 a < f`, `readarray -t -C 'rm x' a`, `BASH_ENV=x bash -c true`, `export BASH_ENV=x`,
		`env BASH_ENV=x bash run.sh`, `LD_PRELOAD=./x.so ls`, `export LD_PRELOAD=x`, `ENV=/workspace/x sh run.sh`,
		`PS4='$(rm -rf x)'; set -x`, `PS4="$x" bash -x run.sh`, `declare -n r=BASH_CMDS`, `x='a[$(rm -rf x)]'; echo $((x))`,
		`[ -v 'a[$(rm -rf x)]' ]`, `let 'a[$(rm -rf x)]=1'`, `declare -a a='($(rm -rf x))'`, `typeset "a=(\$(rm -rf x))"`,
		// By another program.
		`sed '1e rm -rf x' f`, `sed -n -e p -e '$e rm -rf x' f`, `sed --expr='1e rm -rf x' f`, `sed 's/a/rm -rf x/e' f`,
		`sed 1e f`, `sed "1e rm -rf $x" f`,
		`awk 'BEGIN{system("rm -rf x")}'`, `awk 'BEGIN{system ( "rm -rf x" )}'`, `awk '{system($0)}' f`,
		`awk 'BEGIN{"rm -rf x"|getline}'`, `awk '{print | "rm -rf x"}' f`, `awk '{print |& "rm -rf x"}' f`,
		`awk 'BEGIN{c="rm -rf x"; c | getline}'`, `gawk -e 'BEGIN{system("rm -rf x")}'`, `awk 'BEGIN{system("rm\x20-rf x")}'`,
		`awk 'BEGIN{f="system"; @f("rm -rf x")}'`, `awk 'BEGIN{"rm " "-rf x" | getline}'`,
		"awk 'BEGIN{system\\\n(\"rm -rf x\")}'",
		`tar --to-command='rm -rf x' -xf a`, `tar --to-com='rm -rf x' -xf a`,
		`tar --checkpoint=1 --checkpoint-action=exec='rm -rf x' -cf a b`, `tar --checkpoint-action 'exec=rm -rf x' -cf a b`,
		`tar -I 'rm -rf x' -cf a b`, `tar -cI 'rm -rf x' -f a b`, `tar cIf 'rm -rf x' a b`,
		`tar --use-compress-program='rm -rf x' -cf a b`, `tar -F 'rm -rf x' -cf a b`, `tar -I "$x" -cf a b`,
		`TAR_OPTIONS='--to-command=sudo' tar xf a`,
		`split --filter='rm -rf x' f`, `split --fil='rm -rf x' f`, `sort --compress-program=sudo f`, `sort --comp sudo f`,
		`rg --pre sudo a`, `rg --pre=chown a`, `zip --unzip-command 'rm -rf x' -T a.zip`, `zip a.zip b -T -TT 'rm -rf x'`,
		`fd -x rm -rf`, `fd . -X rm -rf`, `fd -Hx rm -rf {}`, `fd --exec rm -rf {} ';'`, `fd --exec=sudo`,
		`fd -x ls ';' -x rm -rf`, `fd -x {}`, `fd -x "$c"`,
		`git -c alias.x='!rm -rf x' x`, `git -c core.pager='rm -rf x' log`, `git -c core.fsmonitor='rm -rf x' status`,
		`git -C sub -c core.pager='rm -rf x' log`, `git -c "$x" log`, `git -c core.pager="$x" log`,
		`git --config-env=core.pager=X log`, `git config alias.x '!rm -rf x'`, `git config --global core.pager 'rm -rf x'`,
		`git config set core.editor sudo`, `git config alias.x 'push -f'`, `git clone -c core.pager='rm -rf x' a b`,
		`git -c protocol.ext.allow=always clone a b`,
		`git bisect run rm -rf x`, `git bisect run sh -c 'rm -rf x'`, `git rebase --exec 'rm -rf x' HEAD~1`,
		`git rebase -x 'rm -rf x' HEAD~1`, `git rebase -x'rm -rf x' a`, `git rebase -x "$c" a`,
		`git submodule foreach 'rm -rf x'`, `git submodule foreach --recursive rm -rf x`,
		`git submodule --quiet foreach 'ls; rm -rf x'`, `git grep -O'rm -rf x' a`,
		`git grep --open-files-in-pager='rm -rf x' a`, `git ls-remote --upload-pack='rm -rf x;' .`,
		`git ls-remote --upload-p 'rm -rf x;' .`, `git clone -u 'rm -rf x' . y`, `git fetch --upload-pack='rm -rf x' .`,
		`git archive --remote=. --exec='rm -rf x' HEAD`, `git ls-remote ext::'rm -rf x'`,
		`GIT_EXTERNAL_DIFF='rm -rf x' git diff`, `GIT_PAGER='rm -rf x' git -p log`, `PAGER='rm -rf x' git -p log`,
		`export GIT_SSH_COMMAND='rm -rf x'`, `EDITOR='rm -rf x' git commit`, `env EDITOR='rm -rf x' git commit`,
		`GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='rm -rf x' git log`,
		`declare -x EDITOR='rm -rf x'`, `x='rm -rf y'; PAGER=$x git log`,
		`npx rm -rf x`, `npx -y rm -rf x`, `npx --package foo rm -rf x`, `npm exec -- rm -rf x`, `npm exec -c 'rm -rf x'`,
		`npx --call='rm -rf x'`, `npm x rm -rf x`, `yarn exec rm -rf x`, `pnpm exec rm -rf x`, `pnpm dlx sudo`,
		`conda run rm -rf x`, `conda run -n env rm -rf x`, `mamba run -n "$e" rm -rf x`, `bundle exec rm -rf x`,
		`composer exec rm -rf x`, `npx /bin/rm -rf x`, `npx env rm -rf x`,
		`cmake -E rm -rf x`, `cmake -E env A=1 rm -rf x`, `cmake -E time rm -rf x`, `cmake -E chdir d rm -rf x`,
		`go run -exec 'rm -rf x' .`, `go test -exec='rm -rf x' .`, `go build -toolexec 'sudo x' .`, `go vet -vettool=chown .`,
		`GOFLAGS=-exec=sudo go test`, `make CC='rm -rf x'`, `make SHELL=/bin/ksh x`,
		`printf '%s\0' rm -rf x | xargs -0 command`, `cd /bin; ./sed '1e rm -rf x' f`, `env sed '1e rm -rf x' f`,
		`git rebase -x "sed '1e rm -rf x' f" a`, `bash -c "npx rm -rf x"`,
		`npm --loglevel silent exec rm -rf x`, `npm --prefix d exec -- rm -rf x`, `pnpm --filter a exec rm -rf x`,
		`pnpm -C d exec sudo id`, `yarn --cwd d exec rm -rf x`, `yarn workspace a exec rm -rf x`,
		`yarn workspaces foreach -A exec sudo id`, `yarn rm -rf x`, `pnpm sudo id`, `composer exec rm -- -rf x`,
		`composer exec 'rm -rf x'`,
		`sed 'v;e rm -rf x' f`, `sed 'v 4.2;1e sudo id' f`, `make 'X!=rm -rf x'`, `make 'X != sudo id'`,
		`MAKEFLAGS='--eval=x:;id' make`, `cmake --build . -- 'X!=rm -rf x'`, `cmake --build . -- CC='rm -rf x'`,
		`cmake -DCMAKE_C_COMPILER_LAUNCHER='rm;-rf;x' .`,
		`java -XX:OnError='rm -rf x' X`, `java '-XX:OnOutOfMemoryError=sudo id' X`, `javac -J-XX:OnError='rm -rf x' X.java`,
		`ctest --build-and-test a b --test-command rm -rf x`, `mvn exec:exec -Dexec.executable=rm '-Dexec.args=-rf x'`,
		`chmod +777 x`, `chmod u=rwx,go=u x`,
		// In text that shells do not agree on.
		"!(rm -rf x)", "echo \"${x:-'$(rm -rf x)'}\"", `sh -c '((rm -rf x))'`, `dash -c '((rm -rf x))'`,
		"bash -c 'echo a #\\\nrm -rf x'", `bash -c $'ls \\\r\nrm -rf x'`, `bash -c '!(rm -rf x)'`,
		`[[ a == @($(rm -rf x)) ]]`,
	} {
		vs, err := p.Script(src)
		if err != nil || goes(vs) {
			t.Errorf("%s: %v, let through", src, err)
			continue
		}
		for _, v := range vs {
			if v.Effect == Deny && (v.Why == "" || v.Where == "" || v.Hint == "") {
				t.Errorf("%s: a denial without reason, place or hint: %+v", src, v)
			}
		}
	}
}

// What people do every day with the same programs goes on.
func TestEverydayInContainer(t *testing.T) {
	p := containerPolicy()
	for _, src := range []string{
		`./gradlew test`, `cd sub && ./run.sh`, `cd "$d" && ./configure && make`, `bin/rails test`,
		`node_modules/.bin/eslint .`, `cd ..; ./project/run`, `bash ./service start`, `cd /tmp && ./a.out`,
		`sed -i 's/a/b/g' f`, `sed -n '1,5p' f`, `sed "s/$a/$b/" f`, `sed -n "${n}p" f`, `sed -e 's/e/E/' -e '/x/d' f`,
		`sed "s|$a|$b|$flags" f`, `sed '/^e/d;s/x/e/' f`, `sed -f x.sed f`, `sed '1e date' f`, "sed '/a/{\ns/b/c/\n}' f",
		`sed -i.bak '/foo/a bar' f`, `sed -E 's#(a|b)#\1#' f`, `sed "$x" f`,
		`awk '{print $1}' f`, `awk '/system/ {print}' f`, `awk '{print "system"}' f`, `awk '{print | "sort -n"}' f`,
		`awk 'BEGIN{"date +%s" | getline t; print t}'`, `awk '{system("mkdir -p out")}' f`, `awk '{print > "out.txt"}' f`,
		`awk -F'|' '$1 == "a" || $2 {print}' f`, `awk -v x="$y" '$1 > x' f`, `awk "$prog" f`, `awk -f x.awk f`,
		`awk '{ print "err" | "cat 1>&2" }' f`, `awk 'while ((getline l < "f") > 0) n++'`,
		`tar czf a.tgz b`, `tar xzf a.tgz -C d`, `tar -I zstd -cf a b`, `tar -I 'zstd -19 -T0' -cf a b`,
		`tar --checkpoint=100 --checkpoint-action=dot -xf a`, `tar -cf - . | tar -xf - -C d`, `tar $opts a`, `tar cf "$x" y`,
		`split --filter='gzip > $FILE.gz' -b 1M f`, `split -l 100 f p`, `sort --compress-program=gzip f`, `sort -k2 -t: "$f"`,
		`rg --pre ./pre.sh x`, `rg -n "$x" src`, `zip -r a.zip b`,
		`fd -e py -x wc -l`, `fd x -X ls -l`, `fd -tf . src`, `fd "$x"`, `fd -e go --exec gofmt -l {}`,
		`git -c user.name=a -c user.email="$m" commit -m x`, `git -c core.pager=cat log`,
		`git -c core.editor=true rebase --continue`, `git config user.name x`, `git config --global core.pager less`,
		`git config alias.co checkout`, `git config alias.lg 'log --oneline'`, `git config --get alias.x`,
		`git config credential.helper store`, `git -c credential.helper= fetch`, `git bisect run make test`,
		`git bisect run ./test.sh`, `git rebase -x 'make test' main`, `git rebase main`, `git submodule foreach 'git status'`,
		`git submodule update --init`, `git fetch origin main`, `git clone "$u" d`, `git clone -b x u d`, `git grep -n foo`,
		`git grep "$x"`, `git log --format="$f"`, `git -c core.hooksPath=/dev/null commit -m x`,
		`git -c core.fsmonitor=false status`, `git fetch -u origin`, `git diff --ext-diff`, `git commit -m 'sudo rm -rf x'`,
		`git grep 'sudo'`,
		`GIT_PAGER=cat git log`, `PAGER= git log`, `EDITOR=true git commit --amend`, `GIT_EDITOR=: git rebase -i main`,
		`GIT_SEQUENCE_EDITOR="sed -i s/pick/edit/" git rebase -i a`, `CC=gcc make`, `export CC=$(which gcc)`,
		`CC="ccache gcc" make`, `ENV=test npm start`, `export ENV=production`, `ENV="${ENV:-dev}" make`,
		`PATH="$HOME/bin:$PATH" go test`, `export PATH=$PATH:/usr/local/go/bin`, `GOFLAGS=-mod=mod go build`,
		`LD_LIBRARY_PATH=lib ./a.out`, `PS4='+ ' bash -x run.sh`, `unset BASH_ENV`, `GIT_CONFIG_GLOBAL=/dev/null git log`,
		`GIT_AUTHOR_NAME="a b" git commit -m x`,
		`npx eslint .`, `npx -y create-react-app x`, `npx --yes "prettier@3" .`, `npm exec -- tsc`, `npm run kill`,
		`yarn run docker`, `pnpm run service`, `npm rm left-pad`, `pnpm dlx cowsay hi`, `npx -c 'eslint . && tsc'`,
		`conda run -n env pytest`, `conda run -n "$E" python x.py`, `bundle exec rails test`, `bundle exec rspec "$f"`,
		`npm install`, `yarn add x`, `npx -p typescript tsc`,
		`npm --loglevel silent exec eslint .`, `yarn --cwd . build`, `yarn workspace app build`,
		`yarn workspaces foreach -A exec tsc`, `pnpm --filter app build`, `pnpm rm lodash`,
		`composer exec phpunit -- --filter x`, `java -XX:OnError='echo broken' X`, `java -XX:+UseG1GC -jar a.jar`,
		`ctest --test-dir b -R x`, `mvn exec:java -Dexec.mainClass=a.B`, `mvn exec:exec -Dexec.executable=java`,
		`make 'X!=date'`, `make V=1 PYTHON=python3`, `cmake -DCMAKE_C_COMPILER_LAUNCHER=ccache .`, `t=$(mktemp); rm "$t"`,
		`d=$(mktemp -d); rm -r "$d"`, `t=$(mktemp /tmp/a.XXXXXX) && rm "$t"`, `sed 'v 4.2' f`,
		`cmake -E make_directory x`, `cmake -E rm x`, `cmake --build .`, `cmake -E env A=1 make`, `go test ./...`,
		`go test -exec ./wrap.sh ./...`, `go run . -exec sudo`, `make CC=clang`, `make SHELL=/bin/bash test`, `make X=sudo`,
		`hash -r`, `jobs -l`, `mapfile -t a < f`, `[ -n "${a[0]}" ]`, `let x=1`, `let "x = y + 1"`, `((i++))`,
		`declare -a a=($(ls))`, `declare -A m=([a]=b)`, `declare -i n=5`, `local x=1`, `read -r a b < f`,
		`printf -v x '%s' "$(ls)"`, `a[$i]=1`, `echo $((n + $(wc -l < f)))`, `n=$(wc -l < f); echo $((n+1))`,
		`[[ $a -gt 3 ]]`, `[[ $x == @(a|b) ]]`, `test "$a" = '$(x)'`, `declare -n r=arr`, `unset x`, `wait -n`,
		`x='$(date)'; echo "$x"`,
		`sh -c 'cd x && ls'`, `sh -c 'export A=b; make'`, `bash -c '[[ -f x ]] && ls'`, "bash -c '# build\nmake \\\n  test'",
		`echo "${x:-'a b'}"`, `echo "${x:-default}"`, `find . -name '*.py' | xargs -0 wc -l`,
	} {
		vs, err := p.Script(src)
		if err != nil || !goes(vs) {
			t.Errorf("%s: %v, %+v", src, err, refusals(vs))
			continue
		}
		if _, v := Reprint(parsed(t, src)); v.Effect != Allow {
			t.Errorf("%s can not be handed on: %+v", src, v)
		}
	}
}

func refusals(vs []Verdict) (out []string) {
	for _, v := range vs {
		if v.Effect != Allow || v.Late && !v.Sure {
			out = append(out, strings.Join(v.Argv, " ")+": "+v.Why+" ("+v.Where+")")
		}
	}
	return out
}

// All that is benign on the host runs in a container, but for three that only
// hako's own shell can hold.
func TestBenignInContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much work for one goroutine: nothing for a race detector")
	}
	p := containerPolicy()
	for file, most := range map[string]int{"benign.jsonl": 0, "benign-own.jsonl": 3} {
		refused, all := 0, 0
		for _, c := range readCorpus(t, file) {
			all++
			f := parsed(t, c.Command)
			if _, v := Reprint(f); !goes(p.Program(f)) || v.Effect != Allow {
				refused++
				t.Logf("%s %q: %v", c.ID, c.Command, refusals(p.Program(f)))
			}
		}
		if refused > most {
			t.Errorf("%s: %d of %d are refused", file, refused, all)
		}
	}
}
