#!/bin/sh
# Makes hako-tiny:1, the image of tests that want a shell and little else: Debian's
# busybox under all of its names. An image that is there already is kept.
set -eu
image=hako-tiny:1

! docker image inspect "$image" >/dev/null 2>&1 || exit 0
if ! busybox=$(command -v busybox) || ldd "$busybox" >/dev/null 2>&1; then
	echo "tiny: no static busybox to make $image of; the tests that need it are skipped" >&2
	exit 0
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/bin" "$root/tmp" "$root/etc"
chmod 755 "$root" && chmod 1777 "$root/tmp"
cp "$busybox" "$root/bin/busybox"
for name in $("$busybox" --list); do
	[ "$name" = busybox ] || ln -s busybox "$root/bin/$name"
done
tar -C "$root" --owner 0 --group 0 -c . | docker import -c 'ENV PATH=/bin' -c 'CMD ["/bin/sh"]' - "$image" >/dev/null
echo "tiny: made $image"
