"""Serves a model of a GGUF file by llama.cpp's own server, which the package xllamacpp has.

Usage: real_model_server.py MODEL PORT. It runs until it is ended.
"""

import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_ctx = 16384
params.n_parallel = 4
params.use_jinja = True
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
signal.pause()
