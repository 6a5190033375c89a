"""Serves functions of Python files as tools of the Model Context Protocol, over stdio.

It needs Python 3.9 and the standard library. Its argument is a file with its settings as JSON: the tools, and
what it knows of their agent. Where the package massgen is not installed, it stands in for
massgen.tool.
"""

import base64
import binascii
import collections.abc
import dataclasses
import datetime
import enum
import importlib
import importlib.util
import inspect
import json
import logging
import os
import re
import sys
import threading
import types
import typing

MOST_MESSAGE = 7 << 20  # of an answer, in bytes; massgen reads 8 MiB
TOO_LARGE = {
    "content": [{"type": "text", "text": "Error: the result is larger than the 7 MiB that can be read; return less, or write it into a file"}],
    "isError": True,
}
MOST_DEPTH = 6  # of a schema of classes, which may contain themselves


# The stand-ins for massgen.tool.


@dataclasses.dataclass
class ContentBlock:
    block_type: str
    data: str


class TextContent(ContentBlock):
    def __init__(self, data: str):
        super().__init__("text", data)


class ImageContent(ContentBlock):
    def __init__(self, data: str):
        super().__init__("image", data)


class AudioContent(ContentBlock):
    def __init__(self, data: str):
        super().__init__("audio", data)


@dataclasses.dataclass
class ExecutionResult:
    output_blocks: list
    meta_info: typing.Optional[dict] = None
    is_streaming: bool = False
    is_final: bool = True
    is_log: bool = False
    was_interrupted: bool = False
    result_id: str = dataclasses.field(default_factory=lambda: datetime.datetime.now().strftime("%Y%m%d_%H%M%S_%f"))


def context_params(*names):
    def mark(function):
        function.__context_params__ = set(names)
        return function

    return mark


def stand_in(folder):
    """Puts modules in the place of massgen and massgen.tool. folder is massgen's own, None for none."""
    for name in [n for n in sys.modules if n == "massgen" or n.startswith("massgen.")]:
        del sys.modules[name]
    results = {c.__name__: c for c in (ContentBlock, TextContent, ImageContent, AudioContent, ExecutionResult)}
    of_all = {
        "massgen": {},
        "massgen.tool": {**results, "context_params": context_params},
        "massgen.tool._result": results,
        "massgen.tool._decorators": {"context_params": context_params},
        "massgen.logger_config": {"logger": logging.getLogger("massgen")},
    }
    for name, members in of_all.items():
        module = types.ModuleType(name)
        module.__dict__.update(members)
        if name in ("massgen", "massgen.tool"):
            module.__path__ = [os.path.join(folder, *name.split(".")[1:])] if folder else []
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)


def installed():
    """Returns the folder of the package massgen, None where it is not installed."""
    try:
        spec = importlib.util.find_spec("massgen")
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or []) if spec else []
    return places[0] if places else None


# Schemas from hints and docstrings.


def schema_of(hint, depth=0):
    """Returns the JSON Schema of a type hint: {} for any value."""
    if depth > MOST_DEPTH or hint in (inspect.Parameter.empty, typing.Any) or isinstance(hint, (str, typing.TypeVar, typing.ForwardRef)):
        return {}
    if hint is None or hint is type(None):
        return {"type": "null"}
    below = lambda h: schema_of(h, depth + 1)  # noqa: E731
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(hint, "__supertype__"):  # NewType
        return below(hint.__supertype__)
    if origin is typing.Annotated:
        schema = below(args[0])
        for extra in args[1:]:
            text = extra if isinstance(extra, str) else getattr(extra, "description", None)
            if isinstance(text, str):
                schema["description"] = text
        return schema
    if origin is typing.Literal:
        return enum_of(a.value if isinstance(a, enum.Enum) else a for a in args)
    if origin is typing.Union or origin is getattr(types, "UnionType", ()):
        return {"anyOf": [below(a) for a in args]}
    kind = origin or hint
    if not isinstance(kind, type):
        return {}
    if issubclass(kind, enum.Enum):
        return enum_of([m.value for m in kind])
    for base, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (bytes, "string"), (os.PathLike, "string")):
        if issubclass(kind, base):
            return {"type": name}
    if kind is datetime.datetime:
        return {"type": "string", "format": "date-time"}
    if kind is datetime.date:
        return {"type": "string", "format": "date"}
    if hasattr(kind, "model_json_schema"):
        return without_titles(kind.model_json_schema())
    if dataclasses.is_dataclass(kind):
        needed = [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
        return object_of(kind, [f.name for f in dataclasses.fields(kind)], needed, depth)
    if issubclass(kind, dict) and hasattr(kind, "__total__"):  # TypedDict
        hints = hints_of(kind)
        return object_of(kind, list(hints), [n for n in hints if n in kind.__required_keys__], depth)
    if issubclass(kind, tuple):
        fixed = [a for a in args if a is not Ellipsis]
        schema = {"type": "array", **({"items": any_of([below(a) for a in fixed])} if fixed else {})}
        if fixed and Ellipsis not in args:
            schema.update(minItems=len(fixed), maxItems=len(fixed))
        return schema
    if issubclass(kind, collections.abc.Mapping):
        return {"type": "object", **({"additionalProperties": below(args[1])} if len(args) == 2 and below(args[1]) else {})}
    if issubclass(kind, collections.abc.Iterable):
        schema = {"type": "array", **({"items": below(args[0])} if args else {})}
        if issubclass(kind, (set, frozenset, collections.abc.Set)):
            schema["uniqueItems"] = True
        return schema
    return {}


def enum_of(values):
    values = list(values)
    schema = {"enum": values}
    for kind, name in ((bool, "boolean"), (int, "integer"), (str, "string")):
        if values and all(type(v) is kind for v in values):
            schema["type"] = name
    return schema


def any_of(schemas):
    distinct = [s for i, s in enumerate(schemas) if s not in schemas[:i]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def object_of(kind, names, needed, depth):
    hints = hints_of(kind)
    schema = {"type": "object", "properties": {n: schema_of(hints.get(n, typing.Any), depth + 1) for n in names}}
    if needed:
        schema["required"] = needed
    return schema


def without_titles(schema):
    if isinstance(schema, dict):
        return {k: without_titles(v) for k, v in schema.items() if not (k == "title" and isinstance(v, str))}
    return [without_titles(v) for v in schema] if isinstance(schema, list) else schema


def hints_of(thing):
    """Returns the hints of a function or class. A hint that this Python cannot read is left out."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except Exception:
        pass
    names = {**vars(typing), **getattr(sys.modules.get(thing.__module__), "__dict__", {})}
    return {n: readable(h, names) for n, h in getattr(thing, "__annotations__", {}).items()}


def readable(hint, names):
    """Reads a hint that is text, also the X | Y that Python has from 3.10 on."""
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, dict(names))
    except Exception:
        pass
    parts, level, start = [], 0, 0
    for i, c in enumerate(hint):
        level += (c in "[(") - (c in "])")
        if c == "|" and level == 0:
            parts.append(hint[start:i])
            start = i + 1
    if not parts:
        return typing.Any
    return typing.Union[tuple(readable(p.strip(), names) for p in [*parts, hint[start:]])]


GOOGLE = re.compile(r"(Args|Arguments|Parameters|Params|Raises|Exceptions|Except|Attributes|Examples?|Returns|Yields)\s*:\s*$")
NUMPY = re.compile(r"(Parameters|Other Parameters|Returns|Yields|Raises|Attributes|Examples?|Notes|See Also|Warnings?|References)\s*$")
REST = re.compile(r":(param|parameter|arg|argument|key|keyword|type|raises?|returns?|rtype|yields?)\b\s*([^:]*):\s*(.*)$")


def docstring(function):
    """Returns the description of a function, and those of its parameters: Google's, NumPy's and Sphinx's forms."""
    lines = (inspect.getdoc(function) or "").splitlines()
    about, params, section, name, inner = [], {}, None, None, 0
    for i, line in enumerate(lines):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        rest, google = REST.match(text), GOOGLE.match(line)
        numpy = NUMPY.match(line) if i + 1 < len(lines) and re.match(r"-{3,}\s*$", lines[i + 1]) else None
        if rest:
            kind, names = rest.group(1), rest.group(2).split()
            section, name = "rest", names[-1] if names and kind.startswith(("param", "arg", "key")) else None
            if name:
                params[name] = rest.group(3)
        elif google or numpy:
            section, name, inner = (google or numpy).group(1), None, None
        elif section is None:
            about.append(line)
        elif not text:
            name = name if section != "rest" else None
        elif section == "rest":
            if name and indent:
                params[name] += " " + text
        elif section in ("Args", "Arguments", "Parameters", "Params", "Other Parameters") and not re.match(r"-{3,}$", text):
            inner = indent if inner is None else inner
            entry = re.match(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)$", text) if inner else re.match(r"\*{0,2}(\w+)\s*(?::.*)?$", text)
            if indent == inner and entry:
                name = entry.group(1)
                params[name] = entry.group(2) if inner else ""
            elif name:
                params[name] = (params[name] + " " + text).strip()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(about).strip()), params


HIDDEN_KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


# A tool.


class Tool:
    def __init__(self, settings, function):
        self.name = settings["name"]
        self.function = function
        self.presets = settings.get("presets") or {}
        self.defaults = settings.get("defaults") or {}
        self.parameters = dict(inspect.signature(function).parameters)
        self.context = set(getattr(function, "__context_params__", ()))
        unknown = sorted((set(self.presets) | self.context) - set(self.parameters))
        if unknown and not self.takes_any():
            raise ValueError("it has no parameter " + ", ".join(unknown))
        if "agent_cwd" in self.parameters:
            self.context.add("agent_cwd")
        self.about, self.schema = self.describe(settings.get("description") or "")
        if not is_json(self.schema):
            raise ValueError("the schema of its parameters has values that are no JSON")

    def takes_any(self):
        return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in self.parameters.values())

    def describe(self, description):
        about, docs = docstring(self.function)
        hints, properties, required = hints_of(self.function), {}, []
        for name, p in self.parameters.items():
            if p.kind in HIDDEN_KINDS or name in ("self", "cls") or name in self.context or name in self.presets:
                continue
            schema = schema_of(hints.get(name, p.annotation))
            if docs.get(name):
                schema["description"] = docs[name]
            default = self.defaults.get(name, p.default)
            if default is inspect.Parameter.empty:
                required.append(name)
            elif is_json(default):
                schema["default"] = default.value if isinstance(default, enum.Enum) else default
            properties[name] = schema
        schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        return description or about or self.name, schema

    def listed(self):
        return {"name": self.name, "description": self.about, "inputSchema": self.schema}

    def call(self, arguments, context):
        known = [n for n in self.schema["properties"]]
        unknown = sorted(set(arguments) - set(known))
        if unknown and not self.takes_any():
            raise ValueError("it has no parameter %s; it has: %s" % (", ".join(unknown), ", ".join(known) or "none"))
        values = {**self.defaults, **arguments}
        values.update({n: context.get(n) for n in self.context})
        values.update(self.presets)
        return self.function(**values)


def is_json(value):
    try:
        json.dumps(value.value if isinstance(value, enum.Enum) else value, allow_nan=False)
        return True
    except (TypeError, ValueError, RecursionError):
        return False


# Results.


def contents(results):
    """Returns the contents of a call's results, as the protocol has them. Texts in a row are one."""
    parts = []
    for result in results:
        blocks = getattr(result, "output_blocks", None)
        if blocks is None:
            blocks = [TextContent(plain(result))]
        for block in blocks:
            part = content(block)
            if part["type"] == "text" and parts and parts[-1]["type"] == "text":
                parts[-1]["text"] += part["text"]
            else:
                parts.append(part)
    return parts


def plain(value):
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)


STARTS = (
    (b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"BM", "image/bmp"),
    (b"ID3", "audio/mpeg"), (b"\xff\xfb", "audio/mpeg"), (b"\xff\xf3", "audio/mpeg"), (b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"),
)


def content(block):
    kind, data = getattr(block, "block_type", "text"), getattr(block, "data", block)
    if kind not in ("image", "audio"):
        return {"type": "text", "text": plain(data)}
    mime = ""
    if isinstance(data, (bytes, bytearray)):
        raw = bytes(data)
    else:
        text = str(data)
        url = re.match(r"data:([^;,]*)[^,]*,", text)
        if url:
            mime, text = url.group(1), text[url.end():]
        try:
            raw = base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            return {"type": "text", "text": str(data)}  # an address, or a path
    if raw[:4] == b"RIFF":
        mime = mime or {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(raw[8:12], "")
    mime = mime or next((m for start, m in STARTS if raw.startswith(start)), kind + "/unknown")
    return {"type": kind, "mimeType": mime, "data": base64.b64encode(raw).decode()}


# The server.


class Cancelled(BaseException):
    """Is raised in the thread of a call that was cancelled."""


class Call:
    def __init__(self, server, request, tool, params):
        self.server, self.request, self.tool = server, request, tool
        self.arguments = params.get("arguments") or {}
        self.token = (params.get("_meta") or {}).get("progressToken")
        self.future, self.cancelled, self.steps = None, False, 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            parts = contents(self.results())
            # JSON of a huge text takes minutes on a busy machine.
            answer = TOO_LARGE if sum(len(p.get("text") or p.get("data") or "") for p in parts) > MOST_MESSAGE else {"content": parts}
        except Cancelled:
            return
        except BaseException as e:
            answer = {"content": [{"type": "text", "text": "Error: %s" % said(e)}], "isError": True}
        finally:
            self.server.calls.pop(self.request, None)
        if not self.cancelled:
            self.server.answer(self.request, answer)

    def results(self):
        result = self.tool.call(self.arguments, self.server.context)
        if inspect.isawaitable(result) or inspect.isasyncgen(result):
            result = self.wait(result)
        if inspect.isgenerator(result):
            return [r for r in result if self.counts(r)]
        if isinstance(result, Collected):
            return result
        return [result]

    def counts(self, result):
        """Reports whether a result is for the model; massgen shows one that is for the log as progress."""
        if not getattr(result, "is_log", False):
            return True
        if self.token is not None:
            self.steps += 1
            text = "".join(str(getattr(b, "data", "")) for b in result.output_blocks)
            self.server.notify("progress", {"progressToken": self.token, "progress": self.steps, "message": text[:200]})
        return False

    def wait(self, result):
        import asyncio

        async def gathered():
            if not inspect.isasyncgen(result):
                value = await result
                if not inspect.isasyncgen(value):
                    return value
            else:
                value = result
            return Collected([r async for r in value if self.counts(r)])

        self.future = asyncio.run_coroutine_threadsafe(gathered(), self.server.loop())
        if self.cancelled:
            self.future.cancel()
        return self.future.result()

    def cancel(self):
        self.cancelled = True
        if self.future is not None:
            self.future.cancel()
            return
        try:
            import ctypes

            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread.ident), ctypes.py_object(Cancelled))
        except (ImportError, AttributeError):
            pass  # the call goes on to its end, and nobody hears it


def said(e):
    """Returns the text of an exception. That of a user's class may fail itself."""
    try:
        return str(e) or type(e).__name__
    except Exception:
        return type(e).__name__


class Collected(list):
    """Is the results of an asynchronous generator."""


class Server:
    def __init__(self, settings, source, sink):
        self.source, self.sink, self.lock = source, sink, threading.Lock()
        self.context = settings.get("context") or {}
        self.tools, self.warnings, self.calls, self.running = {}, [], {}, None
        self.load(settings["tools"])

    # Loading.

    def load(self, all_settings):
        self.folder = installed()
        if self.folder is None:
            stand_in(None)
        missing, faults, modules = [], {}, {}
        for settings in all_settings:
            path = settings.get("path") or ""
            try:
                if not path or settings.get("own"):
                    if self.folder is None:
                        missing.append(settings["name"])
                        continue
                    function = self.builtin(settings, modules)
                else:
                    function = self.member(path, settings, modules)
                self.tools[settings["name"]] = Tool(settings, function)
            except (KeyboardInterrupt, Exception, SystemExit) as e:
                faults.setdefault((settings.get("shown") or path, reason(e)), []).append(settings["name"])
        if missing:
            self.warnings.append("left out, since they are functions of MassGen itself, and its package is not installed for %s: %s" % (sys.executable, ", ".join(missing)))
        for (path, why), names in faults.items():
            self.warnings.append("%s%s; left out: %s" % (path + ": " if path else "", why, ", ".join(names)))

    def member(self, path, settings, modules):
        if path not in modules:
            modules[path] = self.imported(path)
        try:
            return getattr(modules[path], settings["function"])
        except AttributeError:
            raise LookupError("it has no function %s" % settings["function"]) from None

    def imported(self, path):
        try:
            return load_module(path)
        except ImportError as e:
            if self.folder is None or (e.name or "massgen").split(".")[0] != "massgen" and "massgen" not in sys.modules:
                raise
            # The package is there and cannot be imported whole: the tool may need no more than its results.
            stand_in(self.folder)
            return load_module(path)

    def builtin(self, settings, modules):
        if settings.get("path"):
            return self.member(os.path.join(os.path.dirname(self.folder), settings["path"]), settings, modules)
        for name in ("_basic", "_code_executors", "_file_handlers", "_multimedia_processors", "workflow_toolkits"):
            try:
                return getattr(importlib.import_module("massgen.tool." + name), settings["function"])
            except (ImportError, AttributeError):
                continue
        raise LookupError("the package massgen has no function %s" % settings["function"])

    # Speaking.

    def send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if len(data) > MOST_MESSAGE:
            if "result" not in message:
                return
            data = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": TOO_LARGE}).encode()
        with self.lock:
            self.sink.write(data + b"\n")
            self.sink.flush()

    def answer(self, request, result):
        self.send({"id": request, "result": result})

    def refuse(self, request, code, message):
        self.send({"id": request, "error": {"code": code, "message": message}})

    def notify(self, what, params):
        self.send({"method": "notifications/" + what, "params": params})

    def loop(self):
        """Returns the loop of all asynchronous functions, which runs in a thread of its own."""
        import asyncio

        with self.lock:
            if self.running is None:
                self.running = asyncio.new_event_loop()
                threading.Thread(target=self.running.run_forever, daemon=True).start()
            return self.running

    def serve(self):
        for line in self.source:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            method, request, params = message.get("method"), message.get("id"), message.get("params") or {}
            if method == "initialize":
                self.answer(request, {
                    "protocolVersion": params.get("protocolVersion") or "2025-06-18",
                    "capabilities": {"tools": {}, "logging": {}}, "serverInfo": {"name": "massgen custom tools", "version": "1"},
                })
            elif method == "tools/list":
                for text in self.warnings:
                    self.notify("message", {"level": "warning", "data": text})
                self.warnings = []
                self.answer(request, {"tools": [t.listed() for t in self.tools.values()]})
            elif method == "tools/call":
                self.begin(request, params)
            elif method == "ping":
                self.answer(request, {})
            elif method == "notifications/cancelled":
                call = self.calls.get(params.get("requestId"))
                if call is not None:
                    call.cancel()
            elif request is not None and method is not None:
                self.refuse(request, -32601, "there is no method %s" % method)

    def begin(self, request, params):
        tool = self.tools.get(params.get("name"))
        if tool is None:
            self.refuse(request, -32602, "there is no tool %s" % params.get("name"))
            return
        self.calls[request] = call = Call(self, request, tool, params)
        call.thread.start()


def load_module(path):
    if not path.endswith(".py"):
        return importlib.import_module(path)
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules or name in getattr(sys, "stdlib_module_names", ()):
        name = "custom_tool_%d_%s" % (len(sys.modules), name)
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def reason(e):
    if isinstance(e, ModuleNotFoundError) and e.name:
        return "it needs the module %s, which %s does not have: install it there" % (e.name, sys.executable)
    if isinstance(e, FileNotFoundError) and e.filename and e.filename.endswith(".py"):
        return "there is no such file"
    if isinstance(e, (LookupError, ValueError)) and e.args:
        return str(e.args[0])
    return "it does not load: %s: %s" % (type(e).__name__, said(e))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        settings = json.load(file)
    # What functions and their programs print must not come between the messages.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    status = 1
    try:
        Server(settings, source, sink).serve()
        status = 0
    except BrokenPipeError:
        pass  # massgen is gone
    except BaseException as e:
        print("%s: %s" % (type(e).__name__, e), file=sys.stderr)
    sys.stderr.flush()
    os._exit(status)  # functions that hang are not waited for


if __name__ == "__main__":
    main()
