#!/usr/bin/env bash
# Measures panels on questions that are generated from a seed, and writes the tables of docs/evidence.md: simulated
# members with several accuracies and correlations, through every strategy. With the argument real it asks the
# server at REAL_MODEL_URL instead (scripts/real_model.sh --with), or the panel of EVIDENCE_CONFIG, and first prints
# how many calls that takes and what they cost at most.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
home=$root/.cache/evidence
seed=${EVIDENCE_SEED:-1}
mkdir -p "$home"
go build -trimpath -o "$home/massgen" ./cmd/massgen
python3 scripts/evidence.py questions "$home" "$seed" arithmetic=90 dates=60 logic=50 code=40

strategies=members,majority,blind,consensus,judge,synthesize,cascade,samples

if [ "${1:-}" = real ]; then
	config=${EVIDENCE_CONFIG:-scripts/evidence_real.yaml}
	python3 scripts/evidence.py questions "$home" "$seed" arithmetic=20
	compare=("$home/massgen" compare --config "$config" "$home/arithmetic.jsonl" --strategies members,majority,blind
		--score number --answer-pattern '(-?[0-9][0-9,]*)[^0-9]*$' --concurrency 1 --state-dir "$home/real")
	if [ -n "${EVIDENCE_CONFIG:-}" ]; then # a panel that may cost money: the program asks first
		exec "${compare[@]}" --html "$home/real.html"
	fi
	"${compare[@]}" --yes >/dev/null & # it is killed once, and goes on
	sleep "${EVIDENCE_KILL_AFTER:-60}"
	kill -9 $! 2>/dev/null || true
	wait $! 2>/dev/null || true
	"${compare[@]}" --html "$home/real.html" "${@:2}"
	"${compare[@]}" --json >"$home/real.json"
	exit
fi

# scene NAME ACCURACIES CORRELATION CONFORMITY compares three simulated members with one seed.
scene() {
	local name=$1 correlation=$3 conformity=$4 a b c
	IFS=, read -r a b c <<<"$2"
	cat >"$home/$name.yaml" <<YAML
agents:
  - id: ada
    backend: &member {type: simulated, answers: $home/every.jsonl, accuracy: $a, correlation: $correlation, conformity: $conformity, seed: $seed}
  - {id: bob, backend: {<<: *member, accuracy: $b}}
  - {id: cy, backend: {<<: *member, accuracy: $c}}
orchestrator: {answer_pattern: '(?s)(.*)'}
YAML
	"$home/massgen" compare --config "$home/$name.yaml" "$home/every.jsonl" --strategies "$strategies" --samples 5 \
		--concurrency 8 --state-dir "$home/$name" --html "$home/$name.html" --json >"$home/$name.json"
}

cat "$home"/{arithmetic,dates,logic}.jsonl >"$home/every.jsonl"
scene independent 0.7,0.7,0.7 0 0.2
scene correlated 0.7,0.7,0.7 0.7 0.2
scene uneven 0.5,0.5,0.85 0.6 0.2
scene herd 0.6,0.6,0.6 0.3 0.9

# Code is scored by its tests, behind the fence around commands.
sed "s|every.jsonl|code.jsonl|" "$home/independent.yaml" >"$home/code.yaml"
"$home/massgen" compare --config "$home/code.yaml" "$home/code.jsonl" --strategies members,majority,blind,judge \
	--score "command:python3 scripts/evidence.py check" --state-dir "$home/code" --html "$home/code.html" --json >"$home/code.json"

python3 scripts/evidence.py report "$home" docs/evidence.md <<'JSON'
[["independent", "Three equally good members that err independently", "Each is right on 70 %. This is where a panel helps most."],
 ["correlated", "The same members, with a correlation of 0.7 of their errors", "They are wrong together, so there is little to gain from more of them."],
 ["uneven", "One good member and two poor ones that make the same mistakes", "One is right on 85 %, two on 50 %: the poor ones outvote the good one, and the panel loses."],
 ["herd", "Members that follow the crowd", "Each is right on 60 %, with a correlation of 0.3, and goes over to what most others say nine times in ten."],
 ["code", "Small programs, scored by their tests", "The members are those of the first table, and each answer is run with the tests of its question."]]
JSON
if [ -n "${EVIDENCE_CONFIG:-}" ]; then
	exec bash scripts/evidence.sh real
fi
echo "evidence: docs/evidence.md has the tables, and $home the pages" >&2
