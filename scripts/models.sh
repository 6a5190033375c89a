#!/usr/bin/env bash
# Compares the table of models (internal/models/prices, internal/models/providers) with the lists of models in the
# libraries that are linked, OpenAI's, Anthropic's and Google's: which models the table does not
# know, which are deprecated, and which only the table knows. With keys, it asks the services too.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
go test -count=1 -v -run TestTableKnowsTheSDKsModels ./internal/models/providers | sed 's/^ *[a-z_]*\.go:[0-9]*: //' || status=$?
go run ./cmd/massgen models --json | python3 -c '
import json, sys
table = json.load(sys.stdin)
asked = sorted({m["type"] for m in table["models"] if "listed" in m})
print("asked with a key:", ", ".join(asked) or "no service")
for m in table["models"]:
    unknown = m["input_usd"] is None and not m.get("context_window")
    if m.get("listed") is False:
        print(m["type"], m["model"], "is in the table, and the service does not list it")
    elif m.get("listed") and unknown:
        print(m["type"], m["model"], "is listed by the service, and not in the table")
'
exit "$status"
