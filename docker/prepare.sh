#!/bin/sh
# The steps that all executor images share. Runs inside an image build, as root,
# on the Debian and Ubuntu systems that the base images are.
#   prepare.sh packages [PACKAGE…]   certificates, the common tools, and PACKAGE…
#   prepare.sh user                  the user executor and its folders; the last step
set -eu
export DEBIAN_FRONTEND=noninteractive

# patiently runs a command again when it ends badly: mirrors refuse bursts.
patiently() { "$@" || { sleep 10; "$@"; } || { sleep 30; "$@"; }; }

packages() {
	# Slim bases have no manual pages; some packages (maven) link into their folder all the same.
	mkdir -p /usr/share/man/man1
	patiently apt-get -o Acquire::Retries=5 update -qq
	patiently apt-get -o Acquire::Retries=5 install -y -qq --no-install-recommends \
		ca-certificates curl git jq less make patch procps ripgrep tree unzip wget xz-utils "$@" >/dev/null
	rm -rf /var/lib/apt/lists/* /var/cache/apt/*
	# The certificates in docker/ca, for those behind a proxy that opens TLS.
	update-ca-certificates >/dev/null
}

# user makes uid and gid 1000 the user executor. Some bases have taken that
# number for a user of their own (node, ubuntu): it is renamed. The home of
# passwd has to be the one of HOME, because Java looks there.
user() {
	group=$(getent group 1000 | cut -d: -f1)
	owner=$(getent passwd 1000 | cut -d: -f1)
	if [ -z "$group" ]; then groupadd -g 1000 executor; elif [ "$group" != executor ]; then groupmod -n executor "$group"; fi
	if [ -z "$owner" ]; then
		useradd -u 1000 -g 1000 -M -s /bin/bash -d /workspace/.home executor
	else
		usermod -l executor -g 1000 -G '' -s /bin/bash -d /workspace/.home "$owner"
	fi
	# Commits need a name, and names of files shall be readable. A project's own
	# settings, and the task's, go before these.
	git config --system user.name hako
	git config --system user.email hako@localhost
	git config --system core.quotePath false
	mkdir -p /workspace/project /workspace/tmp /workspace/.home
	chown -R 1000:1000 /workspace
	unprivileged
}

# unprivileged takes from every program what would make it more than its caller.
unprivileged() {
	find / -xdev -type f -perm /6000 -exec chmod a-s {} +
	# What an installer left for root alone would be missing for executor. Only
	# what differs is touched: each touched file is stored once more in the image.
	find /usr/local /opt ! -type l \( ! -perm -o=r -o -perm /u=x ! -perm -o=x \) -exec chmod a+rX {} +
}

step=$1
shift
"$step" "$@"
