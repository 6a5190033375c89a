"""Runs one panel of MassGen against a mock, and prints the time of run() without its imports."""

import asyncio
import json
import os
import sys
import tempfile
import time

os.environ["OPENAI_API_KEY"] = "none"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no download
base, agents, question = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)  # where MassGen keeps its logs
    os.environ["HOME"] = folder
    import massgen

    config = {
        "agents": [
            {"id": f"agent{i + 1}", "backend": {"type": "chatcompletion", "model": f"mock{i + 1}", "base_url": base}}
            for i in range(agents)
        ],
        "orchestrator": {"skip_final_presentation": True, "skip_coordination_rounds": False},
        "ui": {"display_type": "simple", "logging_enabled": False},
    }
    began = time.perf_counter()
    result = asyncio.run(massgen.run(question, config_dict=config, enable_filesystem=False))
    took = time.perf_counter() - began
    if not result.get("final_answer"):
        sys.exit("MassGen has no answer")
    os.chdir("/")
print()
print(json.dumps({"seconds": took, "winner": result.get("selected_agent")}))
