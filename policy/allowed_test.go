package policy

import (
	"slices"
	"strings"
	"testing"
)

// The groups begin as the design document has them.
var documented = map[string]string{
	"build_package":    "npm, yarn, pnpm, pip, pip3, conda, mamba, python, python3, cargo, make, cmake, bundle, gem, composer, dotnet",
	"test":             "pytest, jest, mocha, rspec, phpunit, cargo test, dotnet test",
	"linter_formatter": "eslint, prettier, black, flake8, pylint, mypy, rubocop, rustfmt, clippy, tsc",
	"file_operations":  "ls, cat, head, tail, grep, find, wc, diff, tree, file, stat",
	"version_control":  "git status, git diff, git log, git branch, git show, git blame",
	"utilities":        "echo, pwd, cd, mkdir, rm, cp, mv, touch, chmod, env, which, curl, wget, tar, unzip, jq, sed, awk, sort, uniq, xargs",
}

func TestAllowed(t *testing.T) {
	all := containerPolicy().Allowed()
	if len(all) != len(documented) {
		t.Errorf("%d groups: %+v", len(all), all)
	}
	for _, a := range all {
		for _, name := range strings.Split(documented[a.Name], ", ") {
			if !slices.Contains(a.Commands, name) {
				t.Errorf("%s lacks %s: %v", a.Name, name, a.Commands)
			}
		}
		for _, name := range a.Commands {
			if v := containerPolicy().Call(strings.Fields(name)); v.Effect != Allow {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
	text := containerPolicy().AllowedText()
	if !strings.HasPrefix(text, "Build/Package Management: npm, yarn, pnpm, pip,") ||
		!strings.Contains(text, "\nVersion Control: git status, git diff,") || strings.HasSuffix(text, "\n") {
		t.Error(text)
	}
}

// The list is that of the policy in force, not of the profile.
func TestAllowedFollowsThePolicy(t *testing.T) {
	compiled := func(a AllowedCommands) *Policy {
		p, err := a.Compile("container", Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, c := range map[string]struct {
		p         *Policy
		has, lack string
	}{
		"exclude": {compiled(AllowedCommands{UseDefault: true, Exclude: []string{"curl", "git push"}}), "wget, ", "curl"},
		"additional": {compiled(AllowedCommands{UseDefault: true, Additional: []string{"custom-build-tool"}}),
			"\nAdditional: custom-build-tool", "sudo"},
		"denied": {compiled(AllowedCommands{UseDefault: true, Additional: []string{"sudo"}}), "npm", "sudo"},
		"custom": {compiled(AllowedCommands{CustomList: []string{"npm", "grep", "mine"}}),
			"Build/Package Management: npm\nFile Operations: grep\nAdditional: mine", "yarn"},
		"rules":      {containerPolicy().With(mustParse(t, "deny curl\nask wget\ndeny git")), "git status", "curl"},
		"asked":      {containerPolicy().With(mustParse(t, "ask wget")), "curl", "wget"},
		"everything": {Default("virtual", Options{}), "Additional: *", "npm"},
		"nothing":    {nil, "", "npm"},
	} {
		text := c.p.AllowedText()
		if !strings.Contains(text, c.has) || strings.Contains(text, c.lack) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Every row of the document's lists, with its examples, in the container.
func TestDocumentedRows(t *testing.T) {
	p := containerPolicy()
	for _, src := range strings.Split(
		`npm install|npm run build|npm test|yarn install|yarn build|yarn test|pnpm install|pnpm build|pip install|pip list|pip3 install -r requirements.txt|
conda activate|conda install|conda env create|mamba install|mamba env create -f environment.yml|python setup.py|python -m pytest|python3 -m venv|python3 script.py|
cargo build|cargo test|make|make install|make test|cmake .|cmake --build .|bundle install|bundle exec|gem install|composer install|composer update|dotnet build|dotnet test|
pytest|pytest -v|pytest tests/|jest|jest --coverage|mocha|mocha tests/|rspec|rspec spec/|phpunit|phpunit tests/|cargo test --all|
eslint .|eslint --fix .|prettier --check .|prettier --write .|black .|black --check .|flake8|flake8 src/|pylint src/|mypy src/|rubocop|rubocop -a|rustfmt --check .|clippy|cargo clippy|tsc --noEmit|tsc|
ls -la|ls -R|cat file.txt|head -n 50 file.txt|tail -n 50 file.txt|grep -r "pattern" .|grep -rn "function" src/|grep -r "import.*module" --include="*.py"|find . -name "*.py"|find . -type f|find . -name "*.ts" -type f|
wc -l file.txt|diff file1.txt file2.txt|tree|tree -L 2|file filename|stat filename|
git status|git diff|git diff HEAD~1|git log --oneline -10|git branch|git branch -a|git show HEAD|git blame file.txt|
echo "text"|pwd|cd src/|mkdir -p dir/subdir|rm file.txt|cp src.txt dst.txt|mv old.txt new.txt|touch newfile.txt|chmod +x script.sh|env|which python|curl -s https://api.example.com|wget https://example.com/file|
tar -xzf archive.tar.gz|unzip archive.zip|sed 's/old/new/g' file.txt|awk '{print $1}' file.txt|sort file.txt|uniq file.txt`, "|") {
		if vs, err := p.Script(strings.TrimSpace(src)); err != nil || !goes(vs) {
			t.Errorf("%s: %v, %+v", src, err, vs)
		}
	}
	for _, src := range []string{`cat data.json | jq '.key'`, `find . -name "*.txt" | xargs grep "pattern"`,
		"./gradlew test", "bash scripts/test.sh", "python x.py", "./mvnw -q verify", "sh ./configure"} {
		if vs, err := p.Script(src); err != nil || !goes(vs) {
			t.Errorf("%s: %v, %+v", src, err, vs)
		}
	}
	for _, src := range strings.Split(
		"sudo ls|su|su - root|rm -rf x|rm -fr x|rm -r -f x|rm --recursive --force x|rm x -Rf|chmod 777 x|chmod -R 0777 x|chmod a+rwx x|chmod -- 777 x|chmod ugo=rwx x|chown a x|mount|mount /dev/sda /mnt|umount x|"+
			"iptables -L|ip6tables -L|systemctl stop x|service x stop|kill 1|kill -9 -1|killall x|reboot|shutdown now|dd if=a of=b|mkfs /dev/sda|mkfs.ext4 /dev/sda|fdisk -l|parted|nc -l 1|netcat x 1|nmap x|ssh x|scp a b:|rsync a b:", "|") {
		for _, form := range []string{"%", "env %", "timeout 5 %", "true && %", "echo $(%)", "sh -c '%'", "x | xargs %",
			"find . -exec % ';'"} {
			vs, err := p.Script(strings.ReplaceAll(form, "%", src))
			if err != nil || Strictest(vs) != Deny {
				t.Errorf("%s: %v, %+v", strings.ReplaceAll(form, "%", src), err, vs)
			}
		}
	}
}

// What the shell would run unseen stays refused in the container, too. The rest
// of the corpus does there what any program of the project could do.
func TestAttacksInTheContainer(t *testing.T) {
	denied := strings.Fields(
		"T2-027 T2-028 T2-029 T2-030 T2-034 T2-044 T2-063 T2-066 T2-067 T2-068 T2-072 T2-073 T2-106 T2-124 T2-125 T2-133 T2-142 T2-143 T2-165 T2-173 T2-174 T2-175 T2-176 T2-177")
	p := containerPolicy()
	for _, c := range readCorpus(t, "attacks.jsonl") {
		vs, err := p.Script(c.Command)
		if slices.Contains(denied, c.ID) && err == nil && goes(vs) {
			t.Errorf("%s %q (%s): %+v", c.ID, c.Command, c.Tries, vs)
		}
	}
}
