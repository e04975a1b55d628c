#!/bin/sh
# Puts hako below $DESTDIR$PREFIX, or takes it away: install.sh install|uninstall.
# What it puts there is listed once, in files, so that both do the same.
set -eu

root=${DESTDIR:-}${PREFIX:-/usr/local}
built=${BUILT:-bin} # where make build, man and completions left their work
share=$built/share

# files lists mode, source and place of each file.
files() {
	echo "755 $built/hako bin/hako"
	echo "755 $built/llmsh bin/llmsh"
	for page in "$share"/man/man1/*.1; do
		echo "644 $page share/man/man1/${page##*/}"
	done
	echo "644 $share/completions/hako.bash share/bash-completion/completions/hako"
	echo "644 $share/completions/hako.zsh share/zsh/site-functions/_hako"
	echo "644 $share/completions/hako.fish share/fish/vendor_completions.d/hako.fish"
	echo "644 hako.yaml.example share/doc/hako/hako.yaml.example"
	echo "644 LICENSE share/doc/hako/LICENSE"
}

# names are the other names hako answers to. llmsh is one too, but the program of that
# name starts faster.
names="aicli llmcmd"

install_all() {
	files | while read -r mode from to; do
		mkdir -p "$root/${to%/*}"
		cp "$from" "$root/$to.new"
		chmod "$mode" "$root/$to.new"
		mv -f "$root/$to.new" "$root/$to" # also while the old one runs
	done
	for name in $names; do ln -sf hako "$root/bin/$name"; done
	echo "installed in $root"
}

# uninstall_all needs nothing to be built: pages are known by their names.
uninstall_all() {
	rm -f "$root/bin/hako" "$root/bin/llmsh" "$root"/share/man/man1/llmsh.1 "$root"/share/man/man1/hako.1 "$root"/share/man/man1/hako-*.1 \
		"$root/share/bash-completion/completions/hako" "$root/share/zsh/site-functions/_hako" \
		"$root/share/fish/vendor_completions.d/hako.fish"
	for name in $names; do
		rm -f "$root/share/man/man1/$name.1"
		if [ "$(readlink "$root/bin/$name" 2>/dev/null)" = hako ]; then rm -f "$root/bin/$name"; fi
	done
	rm -rf "$root/share/doc/hako"
	echo "removed from $root; settings and records of users stay"
}

case ${1:-} in
install) install_all ;;
uninstall) uninstall_all ;;
*) echo "usage: install.sh install|uninstall" >&2; exit 2 ;;
esac
