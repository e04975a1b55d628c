#!/bin/sh
# Makes stand-ins for the base images of the executor images, under the names of
# the official ones, so that the Dockerfiles build unchanged where no image can
# be pulled. An image that is there already is kept, unless it is a stand-in
# made from other files than today's. Needs root (debootstrap) for the first.
#   scripts/bases.sh [NAME…]   python, miniforge, node, java, go; default: all
#   HAKO_PULL=1                ask the registry first
set -eu
cd "$(dirname "$0")/.."
# The builder that every engine has; the others need a plugin.
export DOCKER_BUILDKIT=0
debian=hako-standin-debian:bookworm

say() { echo "bases: $*"; }
has() { docker image inspect "$1" >/dev/null 2>&1; }
label() { docker image inspect -f "{{ index .Config.Labels \"$2\" }}" "$1" 2>/dev/null || true; }

# mirror prints where this machine's apt gets Debian from.
mirror() {
	found=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 2>/dev/null | sed -n 's/ bookworm$//p' | head -n 1)
	echo "${found:-http://deb.debian.org/debian}"
}

# settings writes into the new system what a small image wants and what this
# machine's network asks for: certificates and the proxy of apt.
settings() { # settings ROOT MIRROR
	security=$(echo "$2" | sed 's|/debian/*$|/debian-security|')
	printf 'deb %s bookworm main\ndeb %s bookworm-updates main\ndeb %s bookworm-security main\n' "$2" "$2" "$security" >"$1/etc/apt/sources.list"
	printf 'path-exclude /usr/share/%s/*\n' doc man info locale >"$1/etc/dpkg/dpkg.cfg.d/small"
	echo force-unsafe-io >>"$1/etc/dpkg/dpkg.cfg.d/small"
	{
		echo 'Acquire::Languages "none";'
		echo 'Acquire::Retries "5";'
		echo 'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";'
		echo 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };'
		apt-config dump 2>/dev/null | grep -E '^Acquire::https?::Proxy ' || true
	} >"$1/etc/apt/apt.conf.d/90hako"
	for extra in /usr/local/share/ca-certificates/*.crt; do
		[ ! -e "$extra" ] || cp "$extra" "$1/usr/local/share/ca-certificates/"
	done
	chroot "$1" update-ca-certificates >/dev/null 2>&1
	rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/locale/*
}

base() {
	if has "$debian"; then return; fi
	if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
		say "$debian can only be made by root with debootstrap installed" >&2
		exit 1
	fi
	root=$(mktemp -d)
	trap 'rm -rf "$root"' EXIT
	from=$(mirror)
	say "$debian from $from"
	if ! debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$from" >"$root.log" 2>&1; then
		tail -n 20 "$root.log" >&2
		exit 1
	fi
	rm -f "$root.log"
	settings "$root" "$from"
	tar -C "$root" --one-file-system -c . | docker import -c 'LABEL hako.standin=1' \
		-c 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' -c 'CMD ["bash"]' - "$debian" >/dev/null
	rm -rf "$root"
	trap - EXIT
}

standin() { # standin NAME: one environment's base image
	image=$(sed -n 's/^base: *//p' "container/lang/$1.yaml")
	copied=""
	[ "$1" != miniforge ] || copied=docker/standin/mamba
	# shellcheck disable=SC2086 # nothing, or one word
	made=$(cat "docker/standin/Dockerfile-$1" $copied | sha256sum | cut -c1-16)
	if has "$image"; then
		if [ "$(label "$image" hako.standin)" != 1 ] || [ "$(label "$image" hako.standin.made)" = "$made" ]; then return; fi
	elif [ "${HAKO_PULL:-}" = 1 ] && docker pull "$image"; then
		return
	fi
	# The one for node.js is fetched by pip.
	[ "$1" != node ] || standin_python
	base
	say "$image"
	build "$1" "$image" "$made" || { sleep 20; build "$1" "$image" "$made"; } # a registry may be busy
	forget_stages
}

build() { # build NAME IMAGE MADE
	if ! output=$(docker build -q --force-rm -f "docker/standin/Dockerfile-$1" -t "$2" \
		--label hako.standin=1 --label "hako.standin.made=$3" docker/standin 2>&1); then
		echo "$output" >&2
		return 1
	fi
}

# forget_stages removes what only helped to build: the stages that fetch.
forget_stages() {
	for image in $(docker images -q --filter dangling=true --filter label=hako.standin=fetch); do
		docker rmi "$image" >/dev/null 2>&1 || true # somebody builds with it right now
	done
}

# standin_python is a call of its own because the shell's variables are shared.
standin_python() { (standin python); }

[ $# -gt 0 ] || set -- python miniforge node java go
for name; do
	if [ ! -f "docker/standin/Dockerfile-$name" ]; then
		say "no environment is called $name" >&2
		exit 2
	fi
	start=$(date +%s)
	(standin "$name")
	took=$(($(date +%s) - start))
	[ "$took" -lt 2 ] || say "$name took $took s"
done
