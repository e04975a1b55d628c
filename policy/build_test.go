package policy

import "testing"

func TestCompilerFlags(t *testing.T) {
	for flag, loads := range map[string]bool{
		"-fplugin=x": true, "-fplugin-arg-x-y": true, "-wrapper": true, "-specs=x": true, "-B.": true, "@args": true,
		"-fuse-ld=./x": true, "-fuse-ld=evil": true, "--ld-path=x": true,
		"-Wl,-plugin,x.so": true, "-Wl,--as-needed,--plugin=x": true, "-Xlinker --plugin": true, "-Xclang": true,
		"-C linker=x": true, "-Clinker=x": true, "--codegen=linker=x": true, "-Clink-arg=-fuse-ld=./x": true,
		"-O2": false, "-Wall": false, "-Iinclude": false, "-lm": false, "-fuse-ld=lld": false, "-fuse-ld=mold": false,
		"-Wl,-rpath,.": false, "-Bstatic": false, "-Wl,-Bstatic": false, "-C opt-level=3": false, "-Clink-arg=-s": false,
		"-std=c++20": false,
	} {
		if got := loadsCode(flag); got != loads {
			t.Errorf("%s: %v", flag, got)
		}
	}
}

func TestWhatBuildsAreTold(t *testing.T) {
	p := hostPolicy()
	for src, want := range map[string]Effect{
		"make CFLAGS=-include/etc/passwd": Deny, "make CPPFLAGS=-isystem/etc": Deny, "make CFLAGS=-MF/tmp/x": Deny,
		"make CFLAGS=-includeconfig.h": Allow, "make CFLAGS='-MF dep.d'": Allow,
		"make CC=clang": Allow, "make CC=x86_64-linux-gnu-gcc-12": Allow, "make CC='ccache gcc'": Allow,
		"make CC='ccache ./x'": Deny, "make CC=nonesuch": Deny, "make CC='sh -c id'": Deny, "make HOSTCC=./x": Deny,
		"make CC_FOR_BUILD=./x": Deny,
		"make X='sh -c id'":     Deny, "make X='env sh'": Deny, "make GIT='git -c a.b=c'": Deny,
		"make MSG='time flies'":         Allow,
		"make MSG='git is fine'":        Allow,
		"make ARGS='--config x.js @me'": Allow, "make GIT_CONFIG_COUNT=1": Deny, "make GIT_COMMIT=1": Allow,
		"make ENV=prod": Allow, "make ENV=./x": Deny,
		"cmake -DCMAKE_C_COMPILER=clang .": Allow, "cmake -DCMAKE_C_COMPILER=./x .": Deny,
		"cmake -D CMAKE_C_COMPILER:FILEPATH=sh .": Deny, "cmake -DCMAKE_CXX_CLANG_TIDY='clang-tidy;-fix' .": Allow,
		"cmake -DCMAKE_CXX_CLANG_TIDY='sh;-c;id' .": Deny,
		"cmake -DCMAKE_C_FLAGS=-O2 .":               Allow, "cmake -DCMAKE_C_FLAGS=-fplugin=x .": Deny,
		"cmake -DRULE_LAUNCH_COMPILE=./x .": Deny, "cmake -DCMAKE_BUILD_TYPE=Debug .": Allow,
		"cargo rustc -- -C link-arg=-fuse-ld=./x": Deny, "cargo watch -s id": Deny, "cargo watch --shell=id": Deny,
		"cargo watch -x test":               Allow,
		"mvn -DargLine=-XX:OnError=id test": Deny, "ctest --build-makeprogram sh": Deny,
		"ctest --build-makeprogram ninja": Allow,
		"tox exec -- sh -c id":            Deny, "tox exec -- pytest": Allow, "tox -x a.commands=id": Deny,
		"tox -e py":                        Allow,
		"dotnet build -p:PreBuildEvent=id": Deny, "dotnet build -p:Version=1": Allow, "yarn exec 'sh -c id'": Deny,
		"yarn exec jest": Allow,
		"jest --config '{\"globalSetup\":\"/etc/x\"}'": Deny, "jest --config '{\"rootDir\":\"src\"}'": Allow,
		"go tool cover -func=c.out": Allow, "go tool cover -html=c.out": Deny, "go tool cover -html=c.out -o c.html": Allow,
		"go tool compile x.go":  Deny,
		"git commit -F msg.txt": Allow, "git commit -F /etc/passwd": Deny, "jq .include f": Allow,
		"jq 'include \"x\"; .' f": Deny,
	} {
		if got := verdictOn(t, p, src); got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}

func TestPythonModule(t *testing.T) {
	for src, want := range map[string]string{
		"-m pip install": "pip", "-mpip install": "pip", "-Im pip": "pip", "-I -m pip": "pip", "-W error -m pip": "pip",
		"-Werror -m pip": "pip", "-X dev -m pip.__main__": "pip.__main__",
		"--check-hash-based-pycs always -m pip": "pip", "-Impty": "pty", "-c x -m pip": "", "x.py -m pip": "", "-m": "",
		"": "",
	} {
		if got, _ := pythonModule(literalFields(src)); got != want {
			t.Errorf("python %s: %q, want %q", src, got, want)
		}
	}
}

// A variable before a command, given to env and exported is one and the same.
func TestVariablesHoweverTheyAreSet(t *testing.T) {
	p := hostPolicy()
	for name, want := range map[string]Effect{
		"A": Allow, "x": Allow, "FOO": Allow, "LOG_LEVEL": Allow, "NODE_ENV": Allow, "VITE_X": Allow, "LC_ALL": Allow,
		"_": Deny, "CC": Deny, "PATH": Deny, "LD_PRELOAD": Deny, "GIT_PAGER": Deny, "NODE_OPTIONS": Deny,
		"PYTHONSTARTUP": Deny, "BASH_ENV": Deny, "PERL5OPT": Deny, "MAKEFLAGS": Deny, "SOME_OTHER": Deny,
	} {
		for _, src := range []string{name + "=1 ls", "env " + name + "=1 ls", "env -i " + name + "=1 ls",
			"export " + name + "=1", "declare -x " + name + "=1", name + "=1 timeout 5 ls", "timeout 5 env " + name + "=1 ls"} {
			if got := verdictOn(t, p, src); got != want {
				t.Errorf("%s: %v, want %v", src, got, want)
			}
		}
	}
}

// What is calculated with must be a number, or bash runs what is in it.
func TestNumbersToCalculateWith(t *testing.T) {
	p := hostPolicy()
	for src, want := range map[string]Effect{
		"stat -c %s f": Allow, "stat -c %n f": Deny, "stat -c %s *": Deny, "stat -c %s -c %n f": Deny,
		"stat -c %s \"$f\"": Deny,
		"jq length f":       Allow, "jq '.a.b | length' f": Allow, "jq -r '.a' f": Deny, "jq '\"x\" # | length' f": Deny,
		"jq length -f x f": Deny,
		"expr 1 + 2":       Allow, "expr x : '\\(.*\\)'": Deny, "seq 3": Allow, "seq -f x 3": Deny, "seq \"$x\"": Deny,
		"awk 'END{print NR}' f": Allow, "awk 'END{print NR}' NR=x": Deny, "awk 'END{print $0}' f": Deny,
		"awk 'END{print NR}' *":     Deny,
		"git rev-list --count HEAD": Allow, "git rev-list --count --format=%s HEAD": Deny, "cat f": Deny,
	} {
		if got := verdictOn(t, p, "n=$("+src+"); echo $((n+1))"); got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}

// Make puts what its environment holds into the lines of a shell.
func TestWhatMakeReads(t *testing.T) {
	p := hostPolicy()
	for src, want := range map[string]Effect{
		"VERSION='$(shell id)' make": Deny, "VERSION='1; id' make": Deny, "env VERSION='1; id' make": Deny,
		"VERSION='`id`' timeout 5 make": Deny, "timeout 5 env VERSION='1|sh' make": Deny,
		"export VERSION='1; id'; make": Deny, "export 'VERSION=1; id'": Deny, "declare -x VERSION='1; id'": Deny,
		"VERSION='1; id'; export VERSION": Deny, "export VERSION=1; VERSION='1; id'; make": Deny,
		"Q='touch x #' make": Deny, "env Q=./x make": Deny, "export Q='touch x'": Deny,
		"VERSION='$(shell id)' cmake --build b": Deny,
		"VERSION=1.2 make":                      Allow, "V=1 make": Allow, "export V=1; make": Allow,
		"MSG='a; b' node x.js":      Allow,
		"MSG='a; b'; echo \"$MSG\"": Allow, "export MSG='a b'": Allow, "export VERSION=\"$(git describe)\"": Allow,
		"TEST_URL='http://x/?a=1&b=2' pytest": Allow, "export APP_URL='http://x/?a=1&b=2'": Allow,
	} {
		if got := verdictOn(t, p, src); got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}
