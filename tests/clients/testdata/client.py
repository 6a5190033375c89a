"""The official Python client against a server: exits with an error where something differs."""

import base64
import hashlib
import json
import sys
import time

import openai
import pydantic

client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
PANEL, ALONE = "panel", "panel/ada"


def check(is_so, *what):
    if not is_so:
        raise SystemExit(f"{what}")


def refused(kind, status, do):
    try:
        do()
    except kind as e:
        check(e.status_code == status, e)
        return e
    raise SystemExit(f"no {kind} {status}")


def user(text):
    return {"role": "user", "content": text}


# Models.
ids = [m.id for m in client.models.list()]
check(PANEL in ids and ALONE in ids, ids)
check(client.models.retrieve(ALONE).id == ALONE)
refused(openai.NotFoundError, 404, lambda: client.models.retrieve("other"))

# Chat completions: whole, streaming, history, a named session, errors.
whole = client.chat.completions.with_raw_response.create(model=PANEL, messages=[user("What is Go?")])
session, whole = whole.headers["massgen-session-id"], whole.parse()
message = whole.choices[0].message
check(message.content == "ada on What is Go?" and whole.choices[0].finish_reason == "stop", whole)
check("voted for" in message.reasoning_content and whole.usage.total_tokens > 0, whole)

content = reasoning = ""
usage = None
for chunk in client.chat.completions.create(
    model=PANEL, messages=[user("Why is Go?")], stream=True, stream_options={"include_usage": True}
):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        content += choice.delta.content or ""
        reasoning += getattr(choice.delta, "reasoning_content", None) or ""
check(content == "ada on Why is Go?" and "voted for" in reasoning and usage.total_tokens > 0, content, reasoning, usage)

with client.chat.completions.stream(model=ALONE, messages=[user("Slowly?")]) as stream:
    deltas = [e.delta for e in stream if e.type == "content.delta"]
    check(len(deltas) > 1 and "".join(deltas) == "ada on Slowly?", deltas)

again = client.chat.completions.with_raw_response.create(
    model=PANEL, messages=[user("What is Go?"), {"role": "assistant", "content": message.content}, user("And then?")]
)
check(again.headers["massgen-session-id"] == session, again.headers)
check(again.parse().choices[0].message.content == "ada on And then? after What is Go?")

for question in "One?", "Two?":
    named = client.chat.completions.with_raw_response.create(
        model=ALONE, messages=[user(question)], metadata={"session_id": "python"}
    )
    check(named.headers["massgen-session-id"] == "python")
check(named.parse().choices[0].message.content == "ada on Two? after One?", named.parse())

refused(openai.NotFoundError, 404, lambda: client.chat.completions.create(model="other", messages=[user("?")]))
e = refused(openai.BadRequestError, 400, lambda: client.chat.completions.create(model=PANEL, messages=[]))
check(e.param == "messages" and e.code == "invalid_value" and e.type == "invalid_request_error", e.body)
refused(openai.AuthenticationError, 401, lambda: client.with_options(api_key="wrong").models.list())
refused(openai.InternalServerError, 502, lambda: client.chat.completions.create(model=ALONE, messages=[user("Fail?")]))

# Tools of the client, in both protocols.
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tool = {"name": "weather", "description": "Tells the weather.", "parameters": parameters}
messages = [user("Weather?")]
asked = client.chat.completions.create(model=ALONE, messages=messages, tools=[{"type": "function", "function": tool}])
call = asked.choices[0].message.tool_calls[0]
check(asked.choices[0].finish_reason == "tool_calls" and json.loads(call.function.arguments) == {"city": "Bonn"}, asked)
messages += [asked.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
told = client.chat.completions.create(model=ALONE, messages=messages, tools=[{"type": "function", "function": tool}])
check(told.choices[0].message.content == "ada says rain", told)

tools = [{"type": "function", "strict": None, **tool}]
asked = client.responses.create(model=ALONE, input="Weather?", tools=tools)
call = next(i for i in asked.output if i.type == "function_call")
check(call.name == "weather" and json.loads(call.arguments) == {"city": "Bonn"}, asked)
result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
told = client.responses.create(model=ALONE, previous_response_id=asked.id, input=[result], tools=tools)
check(told.output_text == "ada says rain", told)
with client.responses.stream(model=ALONE, input="Weather?", tools=tools) as stream:
    kinds = [e.type for e in stream]
    check("response.function_call_arguments.done" in kinds, kinds)
    call = next(i for i in stream.get_final_response().output if i.type == "function_call")
result = {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}
told = client.responses.create(model=ALONE, input=[user("Weather?"), call.model_dump(exclude={"parsed_arguments"}), result], tools=tools)
check(told.output_text == "ada says sun", told)

# Responses: whole, streaming, after one another, in a branch, in a named session, in the background.
first = client.responses.create(model=PANEL, input="What is Go?", instructions="Be short.", metadata={"of": "python"})
check(first.status == "completed" and first.output_text == "ada on What is Go?" and first.error is None, first)
check("voted for" in first.output[0].summary[0].text and first.usage.total_tokens > 0, first)
check(first.metadata == {"of": "python"} and first.instructions == "Be short.", first)

with client.responses.stream(model=PANEL, input="And then?", previous_response_id=first.id) as stream:
    kinds = [e.type for e in stream]
    second = stream.get_final_response()
check(second.output_text == "ada on And then? after What is Go?" and second.previous_response_id == first.id, second)
check(kinds[:2] == ["response.created", "response.in_progress"] and kinds[-1] == "response.completed", kinds)
check("response.reasoning_summary_text.delta" in kinds and "response.output_text.delta" in kinds, kinds)

branch = client.responses.create(model=PANEL, input="Or else?", previous_response_id=first.id)
check(branch.output_text == "ada on Or else? after What is Go?", branch)
echoed = client.responses.create(model=ALONE, input=[user("What is Go?"), *first.output, user("And then?")])
check(echoed.output_text == "ada on And then? after What is Go?", echoed)
named = client.responses.create(model=ALONE, input="Three?", conversation="python")
check(named.output_text == "ada on Three? after One?, Two?", named)
check(client.responses.retrieve(first.id).output_text == first.output_text)

later = client.responses.create(model=PANEL, input="Slowly?", background=True)
check(later.status in ("queued", "in_progress"), later)
while later.status in ("queued", "in_progress"):
    time.sleep(0.05)
    later = client.responses.retrieve(later.id)
check(later.status == "completed" and later.output_text == "ada on Slowly?", later)
never = client.responses.create(model=ALONE, input="Never?", background=True)
check(client.responses.cancel(never.id).status == "cancelled")
check(client.responses.retrieve(never.id).status == "cancelled")
client.responses.delete(first.id)
refused(openai.NotFoundError, 404, lambda: client.responses.retrieve(first.id))
e = refused(openai.BadRequestError, 400, lambda: client.responses.create(model=PANEL, input="?", previous_response_id="resp_0"))
check(e.code == "previous_response_not_found", e.body)
last = [e for e in client.responses.create(model=ALONE, input="Fail?", stream=True)][-1]
check(last.type == "response.failed" and last.response.error.code == "server_error", last)

# A request that is repeated begins no second turn.
once = {"Idempotency-Key": "python"}
for do in (
    lambda q: client.responses.create(model=ALONE, input=q, extra_headers=once),
    lambda q: client.chat.completions.create(model=ALONE, messages=[user(q)], extra_headers=once),
):
    check(do("Once?").id == do("Once?").id)
    refused(openai.UnprocessableEntityError, 422, lambda: do("Twice?"))


# Structured answers, in both forms of the API.
class Place(pydantic.BaseModel):
    city: str


for model in (PANEL, ALONE):
    parsed = client.chat.completions.parse(model=model, messages=[user("Which city?")], response_format=Place)
    check(parsed.choices[0].message.parsed == Place(city="Bonn"), parsed)
    check(parsed.choices[0].message.content == '{"city":"Bonn"}', parsed)
    with client.chat.completions.stream(model=model, messages=[user("Which city?")], response_format=Place) as stream:
        check(stream.get_final_completion().choices[0].message.parsed == Place(city="Bonn"), model)
    answered = client.responses.parse(model=model, input="Which city?", text_format=Place)
    check(answered.output_parsed == Place(city="Bonn") and answered.text.format.type == "json_schema", answered)
list_of = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "array"}}}
e = refused(openai.BadRequestError, 400, lambda: client.chat.completions.create(model=ALONE, messages=[user("?")], response_format=list_of))
check(e.param == "response_format.json_schema.schema", e.body)
# Pictures by data: URLs, and none by an address.
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def see(url):
    return client.chat.completions.create(
        model=PANEL,
        messages=[{"role": "user", "content": [{"type": "text", "text": "See?"}, {"type": "image_url", "image_url": {"url": url}}]}],
    )


seen = see(PIXEL).choices[0].message.content
check(seen.startswith("ada on See?") and "[Attached: image (image/png, " in seen, seen)
refused(openai.BadRequestError, 400, lambda: see("https://example.com/a.png"))
seen = client.responses.create(model=ALONE, input=[{"role": "user", "content": [
    {"type": "input_text", "text": "See?"}, {"type": "input_image", "image_url": PIXEL, "detail": "auto"},
    {"type": "input_file", "filename": "n.txt", "file_data": "data:text/plain;base64,aGVsbG8="},
]}]).output_text
check("[Attached: image (image/png, " in seen and "n.txt (text/plain, 5 bytes" in seen, seen)


# What three providers see, byte for byte, and what they find: the sources of the answer are its
# annotations.
PROVIDERS, EYES = "providers", ("eve", "gil", "rex")
saw = "“looks”. image/png: " + hashlib.sha256(base64.b64decode(PIXEL.split(",")[1])).hexdigest()
picture = [{"type": "text", "text": "See?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
seen = client.chat.completions.create(model=PROVIDERS, messages=[{"role": "user", "content": picture}]).choices[0].message
check(seen.content == f"eve {saw}" and all(f"{eye} {saw}" in seen.reasoning_content for eye in EYES), seen)
picture = [{"type": "input_text", "text": "See?"}, {"type": "input_image", "image_url": PIXEL, "detail": "auto"}]
for eye in EYES:
    seen = client.responses.create(model=f"{PROVIDERS}/{eye}", input=[{"role": "user", "content": picture}])
    check(seen.output_text == f"{eye} {saw}", seen)


def sources(text, annotations):
    return [text[a.start_index : a.end_index] + a.title for a in annotations]


for model, eye in (PROVIDERS, "eve"), *((f"{PROVIDERS}/{eye}", eye) for eye in EYES):
    want = [f"[Tides](https://{eye}.example/tides)Tides"]
    found = client.chat.completions.create(model=model, messages=[user("Tides?")], web_search_options={}).choices[0].message
    check(sources(found.content, [a.url_citation for a in found.annotations]) == want, found)
    check(found.annotations[0].url_citation.url == f"https://{eye}.example/tides", found)
    content, last = "", []
    for chunk in client.chat.completions.create(model=model, messages=[user("And?")], web_search_options={}, stream=True):
        content += chunk.choices[0].delta.content or ""
        last += getattr(chunk.choices[0].delta, "annotations", None) or []
    check([content[a["url_citation"]["start_index"] : a["url_citation"]["end_index"]] + "Tides" for a in last] == want, content, last)
    found = client.responses.create(model=model, input="Tides?", tools=[{"type": "web_search"}])
    check(sources(found.output_text, found.output[-1].content[0].annotations) == want, found)
    again = client.responses.retrieve(found.id)
    check(again.output_text == found.output_text and again.output[-1].content == found.output[-1].content, again)
    with client.responses.stream(model=model, input="And?", tools=[{"type": "web_search"}]) as stream:
        added = [e.annotation for e in stream if e.type == "response.output_text.annotation.added"]
        found = stream.get_final_response()
    check(sources(found.output_text, found.output[-1].content[0].annotations) == want, found)
    check([a.url for a in added] == [f"https://{eye}.example/tides"], added)
plain = client.chat.completions.create(model=PROVIDERS, messages=[user("Tides, unsearched?")]).choices[0].message
check(plain.content == "eve “looks”." and not plain.annotations, plain)
refused(openai.BadRequestError, 400, lambda: client.chat.completions.create(model=PANEL, messages=[user("?")], web_search_options={}))
print("all is as it should be")
