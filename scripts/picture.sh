#!/usr/bin/env bash
# Runs the demo panel, which needs neither a key nor the network, and draws its turn into
# docs/run.svg, a picture of the README. Arguments: the file to write instead.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
picture=$(realpath -m "${1:-$root/docs/run.svg}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=SCRIPTDIR/demo.sh
. "$root/scripts/demo.sh"
"$work/massgen" --config "$root/configs/three_agents.yaml" --session-id demo \
	"What are the main benefits of renewable energy?" </dev/null 2>&1 >answer | tee progress
if ! grep -q '^panel: .* · demo$' progress; then
	echo "picture: a model server of this machine answered: stop it, since the picture is to have canned answers" >&2
	exit 1
fi
"$work/massgen" show demo --svg run.svg
install -m 644 run.svg "$picture"
