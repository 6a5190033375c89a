#!/usr/bin/env bash
# Takes the picture at the top of the README, docs/question.svg: a shell in a terminal of tmux asks the demo panel,
# which needs neither a key nor the network, one question. Arguments: the file to write instead.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
picture=$(realpath -m "${1:-$root/docs/question.svg}")
work=$(mktemp -d)
tmux=(tmux -L "question$$" -f /dev/null)
trap '"${tmux[@]}" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
# shellcheck source=SCRIPTDIR/demo.sh
. "$root/scripts/demo.sh"
export TERM=xterm-256color COLORTERM=truecolor PATH=$work:$PATH PS1='$ '

# shown waits until the screen shows a text.
shown() {
	local i
	for ((i = 0; i < 600; i++)); do
		"${tmux[@]}" capture-pane -p | grep -qE "$1" && return
		sleep 0.05
	done
	echo "question: the terminal never shows $1: stop the model servers of this machine" >&2
	exit 1
}

"${tmux[@]}" new-session -d -x 92 -y 40 bash --norc --noprofile
shown '^\$'
"${tmux[@]}" send-keys 'massgen --session-id rain "Why does it rain?"' Enter
shown 'messages'
shown '^\$$'
"${tmux[@]}" capture-pane -ep | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >screen # without the empty lines at the end
python3 "$root/scripts/screen.py" <screen >"$picture"
