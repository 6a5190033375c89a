package toolfit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/linear"
)

func services() map[string]Rules {
	return map[string]Rules{
		"OpenAI": OpenAI(), "compatible": Compatible(), "Claude": Claude(), "Gemini": Gemini(), "llama.cpp": LlamaCpp(),
		"Ollama": Ollama(), "LM Studio": LMStudio(), "Claude elsewhere": Compatible().For("anthropic/claude-opus-5"),
		"Moonshot": Moonshot(), "Kimi elsewhere": Compatible().For("moonshotai/kimi-k2.6"),
	}
}

func corpus(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCorpus: every schema of the corpus fits every service.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for name, schema := range corpus(t) {
		for service, rules := range services() {
			f, err := rules.Fit(backends.Tool{Name: "t", Schema: schema})
			if err != nil {
				t.Errorf("%s, %s: %v", name, service, err)
				continue
			}
			for _, fault := range faults(t, rules, f.Tool.Schema) {
				t.Errorf("%s, %s: %s: %s", name, service, fault, f.Tool.Schema)
			}
			again, err := rules.Fit(f.Tool)
			if err != nil || !bytes.Equal(again.Tool.Schema, f.Tool.Schema) {
				t.Errorf("%s, %s: it does not stay as it is: %s became %s: %v", name, service, f.Tool.Schema, again.Tool.Schema, err)
			}
		}
	}
}

// faults returns what a service would refuse, by its refusals and not by Rules' own code.
func faults(t *testing.T, rules Rules, text json.RawMessage) (all []string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return []string{err.Error()}
	}
	root := value.(map[string]any)
	if root["$schema"] != nil {
		root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	}
	delete(root, "id")
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) { return anyPattern(text), nil })
	if err := c.AddResource("mem://tool", root); err != nil {
		return []string{err.Error()}
	}
	if _, err := c.Compile("mem://tool"); err != nil {
		all = append(all, err.Error())
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not", "if"} {
		if root[key] != nil {
			all = append(all, key+" at the root")
		}
	}
	if _, ok := root["properties"].(map[string]any); root["type"] != "object" || rules.NeedsProperties && !ok {
		all = append(all, "an object without properties")
	}
	if rules.NoSchemaKey && root["$schema"] != nil {
		all = append(all, "$schema")
	}
	v := visitor{rules: rules}
	v.visit("", root, true)
	return append(all, v.found...)
}

// visitor finds what a service would refuse in a part of a schema.
type visitor struct {
	rules Rules
	found []string
}

func (v *visitor) add(at, fault string) { v.found = append(v.found, at+": "+fault) }

// visit looks at a schema, or at schemas by name.
func (v *visitor) visit(at string, value any, isSchema bool) {
	if list, ok := value.([]any); ok {
		for i, inner := range list {
			v.visit(fmt.Sprintf("%s[%d]", at, i), inner, isSchema)
		}
		return
	}
	if _, ok := value.(bool); ok && isSchema && v.rules.NoBooleans && !strings.HasSuffix(at, "additionalProperties") {
		v.add(at, "a boolean")
	}
	s, ok := value.(map[string]any)
	if !ok {
		return
	}
	if !isSchema {
		for name, inner := range s {
			v.visit(at+"."+name, inner, true)
		}
		return
	}
	v.check(at, s)
	for key, inner := range s {
		switch key {
		case "properties", "$defs", "definitions", "patternProperties":
			v.visit(at+"."+key, inner, false)
		case "items", "anyOf", "oneOf", "allOf", "prefixItems", "additionalProperties", "not":
			v.visit(at+"."+key, inner, true)
		}
	}
}

// check looks at one schema.
func (v *visitor) check(at string, s map[string]any) {
	if kind := s["type"]; v.rules.NeedsItems && s["items"] == nil {
		if list, _ := kind.([]any); kind == "array" || !v.rules.OneType && slices.Contains(list, any("array")) {
			v.add(at, "array schema missing items")
		}
	}
	p, ok := s["pattern"].(string)
	long := regexp.MustCompile(`\{,?\d*,?\d{4}|\{\d{4},|\}\)\{`)
	if v.rules.SimplePatterns && ok && (long.MatchString(p) || !strings.HasPrefix(p, "^") || !strings.HasSuffix(p, "$") || strings.Contains(p, "(?!") || strings.Contains(p, `\d`)) {
		v.add(at, "the pattern "+p)
	}
	if to, ok := s["$ref"].(string); ok && (v.rules.NoRefs || v.rules.PlainRefs && (to == "#" || strings.ContainsAny(to, "%~"))) {
		v.add(at, "the reference "+to)
	}
	tells := func(key string) bool { return s[key] != nil }
	if v.rules.Typed && len(s) > 0 && at != "" &&
		!slices.ContainsFunc([]string{"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum", "properties", "items", "prefixItems"}, tells) {
		v.add(at, "unrecognized schema")
	}
	if v.rules.OneType {
		v.checkType(at, s)
	}
	properties, _ := s["properties"].(map[string]any)
	valid := regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	if v.rules.LetterFirst {
		valid = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)
	}
	for name := range properties {
		if v.rules.PlainNames && !valid.MatchString(name) {
			v.add(at, "the property "+name)
		}
	}
}

// checkType finds what MoonshotAI/walle refuses.
func (v *visitor) checkType(at string, s map[string]any) {
	if len(s) == 0 && strings.HasSuffix(at, ".additionalProperties") {
		return
	}
	_, isTyped := s["type"]
	to, isReference := s["$ref"].(string)
	_, isChoice := s["anyOf"]
	if isTyped == (isReference || isChoice) {
		v.add(at, "type is not defined, or defined beside anyOf or $ref")
	}
	if isReference && to != "#" && !strings.HasPrefix(to, "#/$defs/") {
		v.add(at, "references must start with #/$defs/")
	}
	for _, key := range []string{"oneOf", "allOf", "const"} {
		if s[key] != nil {
			v.add(at, key)
		}
	}
	kinds, isList := s["type"].([]any)
	values, hasValues := s["enum"].([]any)
	for key := range s {
		switch key {
		case "anyOf", "$ref", "description", "title", "default", "$defs":
		default:
			if isChoice || isReference || isList && key != "type" && !(key == "enum" && len(kinds) == 2) {
				v.add(at, key+" beside a choice")
			}
		}
	}
	for _, value := range values {
		_, isText := value.(string)
		_, isNumber := value.(json.Number)
		if hasValues && !isText && !isNumber && !(value == nil && isList) {
			v.add(at, "a value that is neither text nor number")
		}
	}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := properties[name.(string)]; !ok {
			v.add(at, "property is not defined")
		}
	}
}

// anyPattern stands for a pattern that Go's regular expressions lack.
type anyPattern string

func (anyPattern) MatchString(string) bool { return true }
func (p anyPattern) String() string        { return string(p) }

// TestUnchanged: a schema that its service takes goes out byte for byte.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	const schema = `{ "required":["b"], "type":"object",  "properties":{"b":{"type":"string","pattern":"^[a-z]{1,3}$"},"a":{"type":"array","items":{"type":"integer","maximum":1e2}}}}`
	for service, rules := range services() {
		if f, err := rules.Fit(backends.Tool{Schema: json.RawMessage(schema)}); err != nil || string(f.Tool.Schema) != schema {
			t.Errorf("%s: it became %s: %v", service, f.Tool.Schema, err)
		}
	}
	for rules, want := range map[Rules]string{
		Claude(): `{"type": "object"}`, OpenAI(): `{"type": "object", "properties": {"a": {"pattern": "x"}}}`,
		LlamaCpp(): `{"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "array"}}}`,
	} {
		if f, err := rules.Fit(backends.Tool{Schema: json.RawMessage(want)}); err != nil || string(f.Tool.Schema) != want {
			t.Errorf("%s became %s: %v", want, f.Tool.Schema, err)
		}
	}
}

// TestFit: what a repaired schema says.
func TestFit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rules      Rules
		name, want string
	}{
		{OpenAI(), "notion root anyOf", `{"description":"(Give the arguments of one of these lists: content; source_url)","properties":{"content":{"type":"string"},"source_url":{"type":"string"}},"type":"object"}`},
		{OpenAI(), "zod union at the root", `{"description":"(Give the arguments of one of these lists: op, x; op)","properties":{"op":{"enum":["add","drop"]},"x":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["op"],"type":"object"}`},
		{Claude(), "zod intersection at the root", `{"$defs":{"B":{"properties":{"b":{"type":"string"}},"required":["b"],"type":"object"}},"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"],"type":"object"}`},
		{Claude(), "draft-04 limits", `{"id":"x","properties":{"n":{"exclusiveMinimum":0,"maximum":9,"type":"number"}},"type":"object"}`},
		{Claude(), "draft-03 required", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"type":"object"}`},
		{Claude(), "tuple of draft-07", `{"properties":{"range":{"items":false,"prefixItems":[{"type":"number"},{"type":"number"}],"type":"array"}},"type":"object"}`},
		{Gemini(), "nested allOf", `{"properties":{"p":{"description":"a point","properties":{"x":{"type":"number"}},"type":"object"}},"type":"object"}`},
		{Gemini(), "lost $defs (sandbox 83)", `{"properties":{"language":{}},"required":["language"],"type":"object"}`},
		{LlamaCpp(), "long repetition (firecrawl 4512)", `{"properties":{"prompt":{"description":"(Its maxLength is 10000)","type":"string"},"urls":{"description":"(Its maxItems is 5000)","items":{"type":"string"},"minItems":1,"type":"array"}},"type":"object"}`},
		{Moonshot(), "apollo anyOf beside type", `{"properties":{"task":{"anyOf":[{"properties":{"id":{"type":"string"},"url":{"type":"string"}},"required":["id"],"type":"object"},{"properties":{"id":{"type":"string"},"url":{"type":"string"}},"required":["url"],"type":"object"}],"description":"which"}},"required":["task"],"type":"object"}`},
		{Moonshot(), "types beside anyOf", `{"properties":{"any":{"type":["string","number","boolean","object","array","null"]},"mode":{"enum":["a","b"],"type":"string"},"n":{"anyOf":[{"minimum":1,"type":"integer"},{"type":"null"}]},"on":{"description":"(One of true)","type":"boolean"},"skill":{"anyOf":[{"items":{"type":"string"},"type":"array"},{"type":"boolean"}],"default":false},"x":{"anyOf":[{"type":"string"},{"minimum":0,"type":"number"}]}},"type":"object"}`},
		{Moonshot(), "draft-07 definitions", `{"$defs":{"B":{"type":"string"}},"properties":{"a":{"properties":{"x":{"type":"string"}},"type":"object"},"b":{"$ref":"#/$defs/B","description":"b"}},"type":"object"}`},
		{Claude(), "null first", `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{OpenAI(), "discriminator (openapi)", `{"properties":{"kind":{"description":"what to make","enum":["circle","square"],"type":"string"}},"required":["kind"],"type":"object"}`},
		{OpenAI(), "choice that narrows", `{"description":"(Give the arguments of one of these lists: op, x; op)","properties":{"op":{"description":"what to do","enum":["add","drop"],"type":"string"},"x":{"type":"integer"}},"required":["op"],"type":"object"}`},
		{OpenAI(), "choice of itself", `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{Gemini(), "nested discriminator", `{"properties":{"shape":{"properties":{"kind":{"enum":["circle"],"type":"string"},"next":{"properties":{"x":{"type":"integer"},"y":{"type":"string"}},"type":"object"},"size":{"description":"(It matches the pattern ^b$)","maximum":9,"minimum":3,"pattern":"^a$","type":"number"}},"required":["kind"],"type":"object"}},"type":"object"}`},
		{LlamaCpp(), "tree ($ref #)", `{"properties":{"children":{"items":{"properties":{"children":{"items":{},"type":"array"},"name":{"type":"string"}},"type":"object"},"type":"array"},"name":{"type":"string"}},"type":"object"}`},
		{LlamaCpp(), "encoded references (typescript-json-schema)", `{"$defs":{"a/b":{"type":"integer"}},"definitions":{"A":{"type":"string"},"Map<string>":{"properties":{"a":{"$ref":"#/definitions/A"}},"type":"object"}},"properties":{"m":{"properties":{"a":{"$ref":"#/definitions/A"}},"type":"object"},"s":{"type":"integer"}},"type":"object"}`},
		{Claude(), "values of no draft (claude-code 586, open-api 635)", `{"properties":{"coded":{"contentSchema":{},"type":"string"},"day":{"type":"string"},"draft":{"dependencies":{"a":["b"]},"dependentSchemas":{"c":{"properties":{"d":{}}}},"type":"object"},"list":{"items":{"type":"string"},"type":"array"},"note":{"type":"string"},"old":{"type":"string"},"opts":{"type":"object"},"step":{"type":"number"},"twice":{"type":"object"}},"type":"object"}`},
		{Ollama(), "php", `{"properties":{},"required":[],"type":"object"}`},
	} {
		f, err := test.rules.Fit(backends.Tool{Schema: corpus(t)[test.name]})
		if err != nil || string(f.Tool.Schema) != test.want {
			t.Errorf("%s became\n%s, not\n%s: %v", test.name, f.Tool.Schema, test.want, err)
		}
	}
}

// TestUnfit: what cannot describe the arguments of a call is refused with the reason.
func TestUnfit(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"string"}`: `of type "string"`, `"object"`: "no JSON object", `{`: "not JSON", `[1]`: "no JSON object", `{"type":["string"]}`: "not of type",
		`{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 300) + `{}` + strings.Repeat(`}}`, 300) + `}`: "deep",
	} {
		if _, err := Gemini().Fit(backends.Tool{Schema: json.RawMessage(schema)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", schema, err)
		}
	}
}

// TestDoubling: a small schema that unfolds to 2^40 schemas is cut or refused at once.
func TestDoubling(t *testing.T) {
	t.Parallel()
	var defs []string
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1))
	}
	schema := json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `,"d40":{"type":"string"}}}`)
	for service, rules := range services() {
		if f, err := rules.Fit(backends.Tool{Schema: schema}); err != nil || len(f.Tool.Schema) > 1<<20 {
			t.Errorf("%s: %d bytes: %v", service, len(f.Tool.Schema), err)
		}
	}
}

// TestCopies: neither copies of a long text nor merges of many branches cost much more than the schema.
func TestCopies(t *testing.T) {
	t.Parallel()
	doubling := func(target string) string {
		defs := `"d0":` + target
		for i := range 10 {
			defs += fmt.Sprintf(`,"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i+1, i, i)
		}
		return `{"type":"object","properties":{"p":{"$ref":"#/$defs/d10"}},"$defs":{` + defs + `}}`
	}
	many := func(key, part string) string {
		return `{"type":"object","` + key + `":[` + strings.TrimSuffix(strings.Repeat(part+",", 4000), ",") + `]}`
	}
	long := strings.Repeat("x", 200_000)
	names := strings.TrimSuffix(strings.Repeat(`"aa",`, 1000), ",")
	for _, schema := range []string{
		doubling(`{"description":"` + long + `"}`), doubling(`{"const":"` + long + `"}`), doubling(`{"enum":[` + names + `]}`), doubling(`{"` + long + `":1}`),
		doubling(`{"const":` + strings.Repeat("1", 200_000) + `}`),
		many("allOf", `{"properties":{"p":{"pattern":"^aaaaaaaaaaaaaaaaaaaaaaaaaaa$"}}}`), many("anyOf", `{"anyOf":[{"properties":{"p":{"minLength":1}}}]}`),
		`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/properties/a"},{"$ref":"#/properties/a"}],"description":"` + long + `"}}}`,
	} {
		for service, rules := range services() {
			f, err := rules.Fit(backends.Tool{Schema: json.RawMessage(schema)})
			if err == nil && len(f.Tool.Schema) > len(schema)+1<<18 {
				t.Errorf("%s: %.200s: %d bytes became %d", service, schema, len(schema), len(f.Tool.Schema))
			}
		}
	}
	if f, err := Gemini().Fit(backends.Tool{Schema: json.RawMessage(doubling(`{"description":"` + long + `"}`))}); err != nil || !strings.Contains(string(f.Tool.Schema), `"b"`) {
		t.Errorf("the upper schemas are lost: %v", err)
	}
}

// TestManyNames: the work for names and values is linear.
func TestManyNames(t *testing.T) {
	t.Parallel()
	linear.Check(t, 2000, func(n int) {
		var odd, names []string
		for i := range n {
			odd = append(odd, fmt.Sprintf(`"%c":{}`, rune(0x4e00+i%20000)))
			names = append(names, fmt.Sprintf(`"a%d"`, i))
		}
		required := `"required":[` + strings.Join(names, ",") + `]`
		schema := `{"type":"object","properties":{` + strings.Join(odd, ",") + `},` + required + `,"anyOf":[{` + required + `},{` + required + `}]}`
		if _, err := Claude().Fit(backends.Tool{Schema: json.RawMessage(schema)}); err != nil {
			t.Error(err)
		}
	})
}

// TestModels: a maker's rules hold for its models under the names that clouds give them.
func TestModels(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]Rules{
		"bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0": Claude(), "global.anthropic.claude-opus-4-5-20251101-v1:0": Claude(), "anthropic.claude-3-5-sonnet-20241022-v2:0": Claude(),
		"apac.anthropic.claude-3-haiku": Claude(), "databricks-claude-sonnet-4": Claude(), "anthropic--claude-4-sonnet": Claude(), "claude-sonnet-4@20250514": Claude(),
		"databricks-gemini-2-5-pro": Gemini(), "google/gemini-2.5-pro": Gemini(), "qwen3": {}, "claudette": {}, "geminids": {},
	} {
		if got := (Rules{}).For(model); got != want {
			t.Errorf("%s has the rules %+v", model, got)
		}
	}
}

// TestAnswerSchema: the schema of an answer fits its service in new_answer and as the schema of the reply, if the
// program checks the answer.
func TestAnswerSchema(t *testing.T) {
	t.Parallel()
	const own = `{"type":"object","properties":{"year":{"type":"string","pattern":"[0-9]{4}"},"$x":{"type":"string"}}}`
	const described = `{"properties":{"$x":{"type":"string"},"year":{"description":"(It matches the pattern [0-9]{4})","type":"string"}},"type":"object"}`
	within := func(s string) string {
		return `{"properties":{"content":` + s + `},"required":["content"],"type":"object"}`
	}
	req := backends.Request{Schema: json.RawMessage(own), Lenient: true, Tools: []backends.Tool{{Name: "new_answer", Schema: json.RawMessage(within(own))}}}
	for _, test := range []struct {
		rules       Rules
		reply, tool string
	}{
		{LlamaCpp(), described, within(described)}, {Compatible(), described, within(described)}, {OpenAI(), own, within(own)},
		{Claude(), own, within(`{"properties":{"_x":{"type":"string"},"year":{"pattern":"[0-9]{4}","type":"string"}},"type":"object"}`)},
	} {
		var call backends.ToolCall
		sent, emit := test.rules.Request(req, func(events ...backends.Event) error { call = events[0].(backends.ToolCall); return nil })
		if string(sent.Schema) != test.reply || string(sent.Tools[0].Schema) != test.tool {
			t.Errorf("%+v: sent %s and %s", test.rules, sent.Schema, sent.Tools[0].Schema)
		}
		if err := emit(backends.ToolCall{Name: "new_answer", Arguments: `{"content":{"_x":"1"}}`}); err != nil || test.rules.PlainNames != strings.Contains(call.Arguments, "$x") {
			t.Errorf("%+v: the call is %v, %v", test.rules, call, err)
		}
	}
	req.Lenient = false
	if sent, _ := LlamaCpp().Request(req, nil); string(sent.Schema) != own {
		t.Errorf("a schema that the program does not check became %s", sent.Schema)
	}
}

// TestDescription: a description is cut where the service limits it, at a whole character.
func TestDescription(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 1025)
	f, err := OpenAI().Fit(backends.Tool{Description: long})
	if want := strings.Repeat("ä", 1023) + "…"; err != nil || f.Tool.Description != want {
		t.Errorf("%d bytes: %v", len(f.Tool.Description), err)
	}
	if f, _ := Claude().Fit(backends.Tool{Description: long}); f.Tool.Description != long {
		t.Error("it was cut for Claude")
	}
}

// TestRequest: names go out and come back, the coordination's tools stay, and an unfit tool is left out.
func TestRequest(t *testing.T) {
	t.Parallel()
	odd := json.RawMessage(`{"anyOf":[{"properties":{"$x":{}}}]}`)
	req := backends.Request{
		Tools: []backends.Tool{
			{Name: "new_answer", Schema: odd}, {Name: "odata", Schema: json.RawMessage(`{"type":"object","properties":{"$filter":{"type":"array","items":{"type":"object","properties":{"a b":{"type":"string"}}}}}}`)},
			{Name: "list", Schema: json.RawMessage(`{"type":"array"}`)}, {Name: "vote", Schema: odd},
		},
		Messages: []backends.Message{{Role: backends.RoleAssistant, Parts: []backends.Part{
			backends.ToolCall{ID: "1", Name: "odata", Arguments: `{"$filter":[{"a b":12345678901234567890}]}`}, backends.ToolCall{ID: "2", Name: "other", Arguments: `{"$filter":1}`},
		}}},
	}
	var got []backends.Event
	sent, emit := Claude().Request(req, func(events ...backends.Event) error { got = append(got, events...); return nil })
	var names []string
	for _, tool := range sent.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"new_answer", "odata", "vote"}) || !bytes.Equal(sent.Tools[0].Schema, odd) || !bytes.Equal(sent.Tools[2].Schema, odd) {
		t.Errorf("the tools are %v", sent.Tools)
	}
	calls := sent.Messages[0].ToolCalls()
	if calls[0].Arguments != `{"_filter":[{"a_b":12345678901234567890}]}` || calls[1].Arguments != `{"$filter":1}` {
		t.Errorf("the calls are sent as %v", calls)
	}
	if own := req.Messages[0].ToolCalls()[0].Arguments; !strings.Contains(own, "$filter") {
		t.Error("the request itself was changed")
	}
	if err := emit(backends.TextDelta{Text: "x"}, backends.ToolCall{Name: "odata", Arguments: `{"_filter":[{"a_b":1}],"_filter2":2}`}, backends.ToolCall{Name: "odata", Arguments: `{"_fil`}); err != nil {
		t.Fatal(err)
	}
	if got[1].(backends.ToolCall).Arguments != `{"$filter":[{"a b":1}],"_filter2":2}` || got[2].(backends.ToolCall).Arguments != `{"_fil` {
		t.Errorf("the calls come back as %v", got)
	}
}

// TestTooManyTools: the last tools are left out where a service limits them, those of the coordination never.
func TestTooManyTools(t *testing.T) {
	t.Parallel()
	tools := []backends.Tool{{Name: "new_answer"}}
	for i := range 600 {
		tools = append(tools, backends.Tool{Name: fmt.Sprint("t", i)})
	}
	tools = append(tools, backends.Tool{Name: "vote"})
	for _, test := range []struct {
		rules  Rules
		hosted backends.HostedTools
		want   int
	}{
		{OpenAI(), backends.HostedTools{}, 128}, {OpenAI(), backends.HostedTools{WebSearch: true, CodeInterpreter: true, CodeExecution: true}, 126},
		{Gemini(), backends.HostedTools{}, 512}, {Claude(), backends.HostedTools{}, 602}, {Compatible(), backends.HostedTools{}, 602},
		{Compatible().For("openai/gpt-5-mini"), backends.HostedTools{}, 128}, {Compatible().For("openai/gpt-oss-120b"), backends.HostedTools{}, 602},
		{Claude().And(OpenAI()), backends.HostedTools{}, 128}, {UpTo128(), backends.HostedTools{}, 128},
	} {
		req := backends.Request{Tools: tools}
		req.Params.Hosted = test.hosted
		sent, _ := test.rules.Request(req, nil)
		last := sent.Tools[len(sent.Tools)-1].Name
		if len(sent.Tools) != test.want || sent.Tools[0].Name != "new_answer" || last != "vote" || sent.Tools[1].Name != "t0" {
			t.Errorf("%+v: %d tools, the last is %s", test.rules, len(sent.Tools), last)
		}
		most, _, ok := test.rules.Most(true, test.hosted)
		if ok != (test.want < 602) || ok && most != test.want-2 {
			t.Errorf("%+v: the program lists %d tools, %v", test.rules, most, ok)
		}
	}
	if most, _, _ := OpenAI().Most(false, backends.HostedTools{}); most != 128 {
		t.Errorf("a single agent has %d tools", most)
	}
}
