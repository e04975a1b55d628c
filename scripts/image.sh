#!/bin/sh
# Builds a container image of hako itself: image.sh NAME. It needs the engine and
# nothing from any registry: the program is built here, the certificates are this
# machine's (or those of $CA_BUNDLE).
set -eu

name=${1:-hako:latest}
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

arch=$(docker version --format '{{.Server.Arch}}')
CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -buildvcs=false \
	-ldflags "-s -w -buildid= -X main.version=${VERSION:-devel}" -o "$context/" ./cmd/hako ./cmd/llmsh

certificates() {
	for file in "${CA_BUNDLE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
		if [ -n "$file" ] && [ -r "$file" ]; then
			echo "$file"
			return
		fi
	done
	echo "image: no certificates found; name a file of them in CA_BUNDLE" >&2
	exit 1
}

root=$context/root
mkdir -p "$root/etc/ssl/certs" "$root/tmp" "$context/data"
chmod 1777 "$root/tmp"
chmod 700 "$context/data"
bundle=$(certificates)
cp "$bundle" "$root/etc/ssl/certs/ca-certificates.crt"
echo 'hako:x:65532:65532:hako:/data:/nonexistent' >"$root/etc/passwd"
echo 'hako:x:65532:' >"$root/etc/group"
chmod 644 "$root/etc/passwd" "$root/etc/group" "$root/etc/ssl/certs/ca-certificates.crt"
cp LICENSE "$root/LICENSE"

docker build -q -t "$name" -f packaging/Dockerfile "$context" >/dev/null
echo "$name: $(docker image inspect --format '{{.Size}}' "$name") bytes"
