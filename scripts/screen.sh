#!/usr/bin/env bash
# Takes pictures of the full screen into docs: the real program in a terminal of tmux, with the demo
# panel, which needs neither a key nor the network. Arguments: the folder to write to instead.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
pictures=$(realpath -m "${1:-$root/docs}")
work=$(mktemp -d)
tmux=(tmux -L "screen$$" -f /dev/null)
trap '"${tmux[@]}" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
# shellcheck source=SCRIPTDIR/demo.sh
. "$root/scripts/demo.sh"
export TERM=xterm-256color COLORTERM=truecolor

# shown waits until the screen shows a text.
shown() {
	local i
	for ((i = 0; i < 600; i++)); do
		"${tmux[@]}" capture-pane -p | grep -qE "$1" && return
		sleep 0.05
	done
	echo "screen: the screen never shows $1" >&2
	exit 1
}
# take writes the screen as a picture.
take() { "${tmux[@]}" capture-pane -ep >screen && python3 "$root/scripts/screen.py" <screen >"$pictures/$1"; }

"${tmux[@]}" new-session -d -x 110 -y 32 "$work/massgen" --session-id demo --config "$root/configs/three_agents.yaml"
shown '· demo'
shown '> Ask a question'
"${tmux[@]}" send-keys 'What are the main benefits of renewable energy?' Enter
shown 'round 1 .*✓'
take screen-running.svg
shown 'ready .*2 messages'
take screen.svg

# the screens of docs/screens.md, which a test draws
mkdir -p "$pictures/screens"
cd "$root" && PICTURES="$pictures/screens" go test -count=1 -tags tmux -run 'TestFullScreenScenes/.*80$' ./cmd/massgen/app
