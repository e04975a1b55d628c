#!/bin/sh
# Sees to it that a Docker engine answers, for the tests that need one. On Debian
# as root it installs and starts what is missing; elsewhere it says what is
# missing and goes on, and those tests are skipped aloud. Quiet when all is there.
set -eu

# PATH of a bare shell may lack where Debian has dockerd, iptables and debootstrap.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
patience=60 # seconds until a started engine has to answer

answers() { command -v docker >/dev/null 2>&1 && docker info >/dev/null 2>&1; }

giveup() {
	echo "docker: $*; the tests that need it are skipped" >&2
	exit 0
}

install() {
	need=""
	command -v docker >/dev/null 2>&1 && command -v dockerd >/dev/null 2>&1 || need="$need docker.io"
	command -v iptables >/dev/null 2>&1 || need="$need iptables"
	command -v debootstrap >/dev/null 2>&1 || need="$need debootstrap"
	[ -n "$need" ] || return 0
	echo "docker: installing$need"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	# shellcheck disable=SC2086 # a list of words
	apt-get install -y -qq --no-install-recommends $need >/dev/null
}

# forget_dead removes the pid files of an engine that was killed: a number may be
# another's by now, or a zombie's, and a new engine would take it for alive.
forget_dead() {
	for program in dockerd:/var/run/docker.pid containerd:/var/run/docker/containerd/containerd.pid; do
		file=${program#*:}
		pid=$(cat "$file" 2>/dev/null) || continue
		if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "${program%%:*}" ] || grep -q '^State:.*Z' "/proc/$pid/status"; then
			rm -f "$file"
		fi
	done
}

# start leaves the engine to the machine's service manager where there is one.
start() {
	if [ -d /run/systemd/system ]; then
		systemctl start docker
		return
	fi
	forget_dead
	log=/var/log/hako-dockerd.log
	[ -w /var/log ] || log=${TMPDIR:-/tmp}/hako-dockerd.log
	echo "docker: starting dockerd, log in $log"
	setsid dockerd >"$log" 2>&1 </dev/null &
}

wait_for_answer() {
	waited=0
	until answers; do
		[ "$waited" -lt "$patience" ] || return 1
		sleep 1
		waited=$((waited + 1))
	done
}

mine() { [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; }

if answers; then
	# The engine is there; only the stand-ins' debootstrap may be missing, and only on Debian.
	! mine || command -v debootstrap >/dev/null 2>&1 || install
	exit 0
fi
[ -z "${DOCKER_HOST:-}" ] || giveup "no engine answers at $DOCKER_HOST (DOCKER_HOST)"
mine || giveup "no engine answers, and only root on Debian can install one here (docker.io, iptables, debootstrap)"
install
# apt may have started it; a second one would only complain.
answers || start
wait_for_answer || {
	[ -z "${log:-}" ] || tail -n 20 "$log" >&2
	echo "docker: the engine did not answer within $patience s" >&2
	exit 1
}
