package debugbackend

import (
	"fmt"
	"strings"
	"testing"
	gotemplate "text/template"

	"github.com/massgen/massgen/backends"
	"pgregory.net/rapid"
)

// written returns what a template writes for facts.
func written(write template, f facts) (string, error) {
	var b strings.Builder
	err := write(&b, scope{facts: f, dot: f})
	return b.String(), err
}

// writtenByGo is what package text/template writes for facts.
func writtenByGo(text string, f facts) (string, error) {
	t, err := gotemplate.New("text").Funcs(gotemplate.FuncMap{"short": short, "oneof": oneof}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("refused: %w", err)
	}
	var b strings.Builder
	err = t.Execute(&b, f)
	return b.String(), err
}

// compareWithGo fails if package text/template writes something else. Errors have other words.
func compareWithGo(t rapid.TB, text string, write template, f facts) {
	t.Helper()
	got, err := written(write, f)
	want, wantErr := writtenByGo(text, f)
	if (err == nil) != (wantErr == nil) || err == nil && got != want {
		t.Fatalf("%s\nwrites %q, %v\nand by text/template %q, %v", text, got, err, want, wantErr)
	}
}

func TestTemplates(t *testing.T) {
	f := facts{"Why?\nSay.", 2, 3, "ada", []Answer{{"agent1", "The sun."}, {"agent2", "50 % <moon>"}}}
	for text, want := range map[string]string{
		"":                                    "",
		"no action":                           "no action",
		"{{.Question}} {{.Turn}}":             "Why?\nSay. 2",
		"{{.Round}}{{.Agent}}":                "3ada",
		"{{.}}":                               "{Why?\nSay. 2 3 ada [{agent1 The sun.} {agent2 50 % <moon>}]}",
		"{{.Answers}}":                        "[{agent1 The sun.} {agent2 50 % <moon>}]",
		"{{$.Agent}}":                         "ada",
		"a {{- /* none */ -}} b":              "ab",
		"a {{- .Turn -}} b":                   "a2b",
		`{{"a\tb"}}{{` + "`c`" + `}}{{7}}`:    "a\tbc7",
		"{{-7}} {{0x10}} {{1_000}}":           "-7 16 1000",
		"{{len .Answers}}{{len .Agent}}":      "23",
		"{{index .Answers 1}}":                "{agent2 50 % <moon>}",
		"{{(index .Answers 1).ID}}":           "agent2",
		"{{((index .Answers 1)).Text}}":       "50 % <moon>",
		"{{len (index .Answers 0).Text}}":     "8",
		"{{short .Question}}":                 "Why?…",
		"{{.Question | short}}":               "Why?…",
		`{{"a" | printf "%s%s" .Agent}}`:      "adaa",
		`{{.Turn | printf "%03d" | len}}`:     "3",
		`{{printf "%d of %v" .Turn .Agent}}`:  "2 of ada",
		`{{printf "%d" .Agent}}`:              "%!d(string=ada)",
		`{{oneof .Agent "a" "a"}}`:            "a",
		`{{"x" | oneof "k" "x"}}`:             "x",
		`{{eq .Agent "bob" "ada"}}`:           "true",
		`{{ne .Turn 2}}`:                      "false",
		`{{eq (eq 1 1) (eq 1 2)}}`:            "false",
		`{{not .Answers}}{{not 0}}`:           "falsetrue",
		`{{or "" .Agent}}{{and "" .Agent}}`:   "ada",
		`{{or .Agent (index .Answers 9).ID}}`: "ada",
		`{{if eq .Turn 1}}a{{else if eq .Turn 2}}b{{else}}c{{end}}`:                                               "b",
		`{{if .Answers}}a{{end}}{{if 0}}b{{end}}{{if ""}}c{{end}}{{if index .Answers 0}}d{{end}}{{if .}}e{{end}}`: "ade",
		`{{range .Answers}}{{.ID}} by {{$.Agent}}: {{.Text}}; {{.}}{{end}}`:                                       "agent1 by ada: The sun.; {agent1 The sun.}agent2 by ada: 50 % <moon>; {agent2 50 % <moon>}",
		`{{range .Answers}}{{range $.Answers}}{{len .ID}}{{else}}-{{end}}{{end}}{{len .Agent}}`:                   "66663",
	} {
		write, err := readTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := written(write, f); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
		compareWithGo(t, text, write, f)
		compareWithGo(t, text, write, facts{})
	}
	write, err := readTemplate("{{range .Answers}}x{{else}}none for {{.Agent}}{{end}}")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := written(write, facts{Agent: "ada"}); got != "none for ada" || err != nil {
		t.Errorf("an empty list: got %q, %v", got, err)
	}
}

// checkRefused reads templates. Each must be refused with an error, on one line, that begins so.
func checkRefused(t *testing.T, errors map[string]string) {
	t.Helper()
	for text, want := range errors {
		_, err := readTemplate(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s…", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 400) {
			t.Errorf("%s: not one line of a few words: %q", text, err)
		}
	}
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	checkRefused(t, map[string]string{
		"{{.Wrong}}":                               "{{.Wrong}}: no field .Wrong: there are .Agent, .Answers, .Question, .Round, .Turn",
		"{{$.Wrong}}":                              "{{$.Wrong}}: no field .Wrong: there are .Agent, .Answers, .Question, .Round, .Turn",
		"{{.agent}}":                               "{{.agent}}: no field .agent: there are .Agent,",
		"{{.Question.ID}}":                         "{{.Question.ID}}: no field .ID: a text has no fields",
		"{{.Answers.ID}}":                          "{{.Answers.ID}}: no field .ID: a list of answers has no fields",
		"{{(index .Answers 0).Name}}":              "{{(index .Answers 0).Name}}: no field .Name: there are .ID, .Text",
		"{{range .Answers}}{{.Turn}}{{end}}":       "{{.Turn}}: no field .Turn: there are .ID, .Text",
		"{{range .Answers}}{{else}}{{.ID}}{{end}}": "{{.ID}}: no field .ID: there are .Agent,",
		"{{if .Wrong}}{{end}}":                     "{{if .Wrong}}: no field .Wrong",
		"{{if 1}}{{.Wrong}}{{end}}":                "{{.Wrong}}: no field .Wrong",
		"{{if 1}}{{else}}{{.Wrong}}{{end}}":        "{{.Wrong}}: no field .Wrong",
		"{{if 1}}{{else if .Wrong}}{{end}}":        "{{if .Wrong}}: no field .Wrong",
		"{{range .Wrong}}{{end}}":                  "{{range .Wrong}}: no field .Wrong",
		"{{range .Turn}}{{end}}":                   "{{range .Turn}}: range takes a list of answers, not a number",
		"{{range .}}{{end}}":                       "{{range .}}: range takes a list of answers, not all facts",
	})
}

func TestWrongCallsAreRefused(t *testing.T) {
	long := strings.Repeat("a", 1000)
	checkRefused(t, map[string]string{
		"{{" + long + " 1}}":       "{{aaa",
		"{{." + long + "}}":        "{{.aaa",
		"{{.Turn." + long + "}}":   "{{.Turn.aaa",
		"{{lower .Agent}}":         "{{lower .Agent}}: no function lower: there are and, eq, index, len, ne, not, oneof, or, printf, short",
		"{{.Agent | html}}":        "{{.Agent | html}}: no function html",
		"{{len}}":                  "{{len}}: len takes a text or a list of answers",
		"{{len 1}}":                "{{len 1}}: len takes a text or a list of answers",
		"{{len.ID}}":               "{{len.ID}}: len takes",
		"{{index .Answers}}":       "{{index .Answers}}: index takes a list of answers and a number",
		"{{index .Agent 0}}":       "{{index .Agent 0}}: index takes",
		`{{index .Answers "0"}}`:   `{{index .Answers "0"}}: index takes`,
		"{{short .Turn}}":          "{{short .Turn}}: short takes a text",
		"{{short .Agent .Agent}}":  "{{short .Agent .Agent}}: short takes a text",
		"{{oneof .Agent}}":         "{{oneof .Agent}}: oneof takes a text and the texts to choose from",
		"{{oneof .Agent 1}}":       "{{oneof .Agent 1}}: oneof takes",
		"{{printf}}":               "{{printf}}: printf takes a text and values for its verbs",
		"{{printf .Turn}}":         "{{printf .Turn}}: printf takes",
		"{{eq 1}}":                 "{{eq 1}}: eq takes two or more texts, or numbers",
		"{{eq 1 .Agent}}":          "{{eq 1 .Agent}}: eq takes",
		"{{eq .Answers .Answers}}": "{{eq .Answers .Answers}}: eq takes",
		"{{ne 1 2 3}}":             "{{ne 1 2 3}}: ne takes two texts, or two numbers",
		"{{not}}":                  "{{not}}: not takes one value",
		"{{or}}":                   "{{or}}: or takes values of one kind",
		"{{and 1 .Agent}}":         "{{and 1 .Agent}}: and takes values of one kind",
		"{{.Agent .Turn}}":         "{{.Agent .Turn}}: only functions take arguments",
		"{{.Turn | .Agent}}":       "{{.Turn | .Agent}}: only functions take arguments",
		"{{.Turn | (len)}}":        "{{.Turn | (len)}}: only functions take arguments",
	})
}

func TestUnsupportedTemplatesAreRefused(t *testing.T) {
	const actions = "is not supported: there are {{if}}, {{range}}, {{else}} and {{end}}"
	const constants = "is not supported: constants are texts and integers"
	checkRefused(t, map[string]string{
		"{{1.5}}":                               "{{1.5}}: 1.5 " + constants,
		"{{1.0}}":                               "{{1.0}}: 1.0 " + constants,
		"{{'a'}}":                               "{{'a'}}: 'a' " + constants,
		"{{99999999999999999999}}":              "template: text:1: integer overflow",
		"{{true}}":                              "{{true}}: true " + constants,
		"{{eq .Agent nil}}":                     "{{eq .Agent nil}}: nil " + constants,
		"{{$x := .Turn}}":                       "{{$x := .Turn}}: variables are not supported",
		"{{range $i, $a := .Answers}}{{end}}":   "{{range $i, $a := .Answers}}: variables are not supported",
		"{{len ($x := .Agent)}}":                "{{len ($x := .Agent)}}: variables are not supported",
		"{{$ = .}}":                             "{{$ = .}}: variables are not supported",
		"{{with .Agent}}{{end}}":                "{{with}} " + actions,
		`{{template "x"}}`:                      "{{template}} " + actions,
		"{{range .Answers}}{{break}}{{end}}":    "{{break}} " + actions,
		"{{range .Answers}}{{continue}}{{end}}": "{{continue}} " + actions,
		`{{define "x"}}{{end}}`:                 "{{define}} " + actions,
		`{{define "text"}}x{{end}}`:             "{{define}} " + actions,
		`a{{block "x" .}}{{end}}`:               "{{define}} " + actions,
		"{{end}}":                               "template: text:1: unexpected {{end}}",
		"{{short `a\nb` 1}}":                    "{{short `a b` 1}}: short takes a text",
		`{{short "` + strings.Repeat("x", 90) + `" 1}}`: `{{short "` + strings.Repeat("x", 73) + "…}}: short takes a text",
	})
}

func TestTemplateErrorNamesTheLine(t *testing.T) {
	for _, reply := range []string{"text: 'X'", "new_answer: 'X'", "reasoning: 'X'", "vote: {agent: agent1, reason: 'X'}", "tool_calls: [{name: x, arguments: 'X'}]"} {
		script := "rules:\n- reply:\n    " + reply
		for _, wrong := range []string{"{{.Wrong}}", "{{oneof .Agent}}"} {
			if _, err := ParseScript([]byte(strings.Replace(script, "X", wrong, 1))); err == nil || !strings.HasPrefix(err.Error(), "script: line 3: "+wrong+": ") {
				t.Errorf("%s: got %v", reply, err)
			}
		}
		s := mustParse(t, strings.Replace(script, "X", "{{(index .Answers 2).ID}}", 1))
		_, err := ask(t.Context(), s, backends.Request{})
		if backends.KindOf(err) != backends.KindBadRequest || !strings.HasSuffix(err.Error(), "script: line 3: index 2 of 0 answers: the first one is 0") {
			t.Errorf("%s: got %v", reply, err)
		}
	}
}

// grammar draws templates that a script may have.
type grammar struct {
	*rapid.T
	depth     int
	isInRange bool
}

func (g grammar) pick(choices ...func() string) string {
	return rapid.SampledFrom(choices).Draw(g.T, "choice")()
}

// operand draws an expression of a kind, in parentheses where it needs them.
func (g grammar) operand(k kind) string {
	text := g.expression(k)
	if strings.ContainsAny(text, " |") || rapid.IntRange(0, 9).Draw(g.T, "parentheses") == 0 {
		return "(" + text + ")"
	}
	return text
}

// field draws a field of the facts.
func (g grammar) field(names ...string) string {
	name := "." + rapid.SampledFrom(names).Draw(g.T, "field")
	if g.isInRange || rapid.IntRange(0, 9).Draw(g.T, "root") == 0 {
		return "$" + name
	}
	return name
}

// atom draws an expression without a call.
func (g grammar) atom(k kind) string {
	switch k {
	case kindNumber:
		return g.pick(
			func() string { return fmt.Sprint(rapid.IntRange(-1, 3).Draw(g.T, "number")) },
			func() string { return g.field("Turn", "Round") })
	case kindAnswers:
		return g.field("Answers")
	case kindFacts:
		return "$"
	}
	if g.isInRange && rapid.Bool().Draw(g.T, "of the answer") {
		return rapid.SampledFrom([]string{".ID", ".Text"}).Draw(g.T, "field")
	}
	return g.pick(
		func() string {
			return fmt.Sprintf("%q", rapid.SampledFrom([]string{"", "a", "%d", "%v %q", "ä\n"}).Draw(g.T, "text"))
		},
		func() string { return g.field("Question", "Agent") })
}

func (g grammar) expression(k kind) string {
	if g.depth == 0 && k != kindTruth && k != kindAnswer {
		return g.atom(k)
	}
	g.depth = max(g.depth-1, 0)
	anyKind := func() kind {
		return rapid.SampledFrom([]kind{kindText, kindNumber, kindAnswers, kindFacts, kindText}).Draw(g.T, "kind")
	}
	logic := func() string {
		return rapid.SampledFrom([]string{"and ", "or "}).Draw(g.T, "logic") + g.operand(k) + " " + g.operand(k)
	}
	piped := func() string {
		return g.expression(k) + " | " + rapid.SampledFrom([]string{"and ", "or "}).Draw(g.T, "logic") + g.operand(k)
	}
	switch k {
	case kindNumber:
		return g.pick(func() string { return g.atom(k) }, logic, piped,
			func() string { return "len " + g.operand(kindText) },
			func() string { return g.expression(kindAnswers) + " | len" })
	case kindTruth:
		compared := rapid.SampledFrom([]kind{kindText, kindNumber}).Draw(g.T, "kind")
		return g.pick(
			func() string { return "eq " + g.operand(compared) + " " + g.operand(compared) },
			func() string {
				return "eq " + g.operand(compared) + " " + g.operand(compared) + " " + g.operand(compared)
			},
			func() string { return g.expression(compared) + " | ne " + g.operand(compared) },
			func() string { return "not " + g.operand(anyKind()) })
	case kindAnswer:
		if g.isInRange && rapid.Bool().Draw(g.T, "dot") {
			return "."
		}
		return "index " + g.operand(kindAnswers) + " " + g.operand(kindNumber)
	case kindText:
		return g.pick(func() string { return g.atom(k) }, logic, piped,
			func() string { return "(index " + g.operand(kindAnswers) + " " + g.operand(kindNumber) + ").Text" },
			func() string { return g.expression(k) + " | short" },
			func() string { return "oneof " + g.operand(k) + " " + g.operand(k) + " " + g.operand(k) },
			func() string { return g.expression(k) + " | oneof " + g.operand(k) },
			func() string { return "printf " + g.operand(k) + " " + g.operand(anyKind()) },
			func() string { return g.expression(anyKind()) + " | printf " + g.operand(k) })
	}
	return g.atom(k)
}

func (g grammar) template() string {
	if g.depth == 0 {
		return " text\n"
	}
	g.depth--
	condition := func() string {
		return g.expression(rapid.SampledFrom([]kind{kindText, kindNumber, kindTruth, kindAnswers, kindAnswer}).Draw(g.T, "condition"))
	}
	return g.pick(
		func() string { return " text\n" },
		func() string { return g.template() + g.template() },
		func() string { return "{{" + condition() + "}}" },
		func() string { return "{{- " + condition() + " -}}" },
		func() string { return "{{if " + condition() + "}}" + g.template() + "{{end}}" },
		func() string {
			return "{{if " + condition() + "}}" + g.template() + "{{else if " + condition() + "}}" + g.template() + "{{else}}" + g.template() + "{{end}}"
		},
		func() string {
			inside := g
			inside.isInRange = true
			return "{{range " + g.expression(kindAnswers) + "}}" + inside.template() + "{{else}}" + g.template() + "{{end}}"
		})
}

// TestTemplatesAreThoseOfGo compares random templates with package text/template.
func TestTemplatesAreThoseOfGo(t *testing.T) {
	texts := rapid.SampledFrom([]string{"", "ada", "Why?\nSay.", "50 % <moon>", strings.Repeat("x", 90)})
	rapid.Check(t, func(t *rapid.T) {
		text := grammar{T: t, depth: 4}.template()
		write, err := readTemplate(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		f := facts{texts.Draw(t, "question"), rapid.IntRange(0, 2).Draw(t, "turn"), rapid.IntRange(0, 2).Draw(t, "round"), texts.Draw(t, "agent"), nil}
		for i := range rapid.IntRange(0, 3).Draw(t, "answers") {
			f.Answers = append(f.Answers, Answer{fmt.Sprintf("agent%d", i+1), texts.Draw(t, "answer")})
		}
		compareWithGo(t, text, write, f)
	})
}

// FuzzTemplate: what is not refused is what package text/template makes of it.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		`{{.Question | short}} {{oneof .Agent "a" "b"}}`, "{{range .Answers}}{{.ID}}{{$.Turn}}{{else}}{{.}}{{end}}",
		"{{if and .Answers (eq (index .Answers 1).ID `agent2`)}}a{{else if not .Round}}b{{end}}", `{{printf "%[2]*[1]d" 1 2 | len}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		write, err := readTemplate(text)
		if err != nil {
			return
		}
		compareWithGo(t, text, write, facts{"Why?\nSay.", 2, 3, "ada", []Answer{{"agent1", "The sun."}, {"agent2", "50 % <moon>"}}})
		compareWithGo(t, text, write, facts{})
	})
}
