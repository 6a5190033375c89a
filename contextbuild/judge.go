package contextbuild

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// Judge returns the messages of the call in which a judge analyses the answers and names the best
// (DESIGN §4 rule 17), and the JSON Schema of its reply. The user message is that of a coordination
// step. Lists and texts of the reply are limited to what so many tokens hold; 0 sets no limit. It panics
// as Build does.
func Judge(in Input, tokens int) (Messages, json.RawMessage) {
	return consultation(in, judgePrompt, analysisSchema(in.namesOfAnswers(), boundsOf(tokens)))
}

// Verdict returns the messages of the call that decides whether the answers say the same, and the
// JSON Schema of its reply. It panics as Build does.
func Verdict(in Input) (Messages, json.RawMessage) {
	return consultation(in, verdictPrompt, json.RawMessage(object("same", `{"type":"boolean"}`)))
}

// Tie returns the messages of the call that names the best of tied answers, and the JSON Schema of its
// reply. It panics as Build does.
func Tie(in Input) (Messages, json.RawMessage) {
	name := `{"type":"string","enum":["` + strings.Join(in.namesOfAnswers(), `","`) + `"]}`
	return consultation(in, tiePrompt, json.RawMessage(object("best", name, "why", `{"type":"string"}`)))
}

// consultation puts the form of the reply behind the other sections, since it names the answers.
func consultation(in Input, prompt string, schema json.RawMessage) (Messages, json.RawMessage) {
	in.Sections = append(slices.Clip(in.Sections), judgeForm+"\n\n"+string(schema))
	return Messages{System: systemMessage(in, prompt), User: in.User()}, schema
}

// namesOfAnswers returns the names under which models see the authors of the answers, by number.
func (in Input) namesOfAnswers() []string {
	names := Anonymous(in.Participants)
	list := make([]string, len(in.Answers))
	for i, a := range in.Answers {
		list[i] = names[a.Agent]
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return list
}

// SynthesisCall returns the messages of the call in which a judge writes the answer: those of its
// judgement, the analysis, and the request. The schema is that of the turn's answers, empty for
// none.
func SynthesisCall(judged []backends.Message, analysis, schema string) []backends.Message {
	request := judgeSynthesize
	if schema != "" {
		request = judgeSynthesizeForm + "\n\n" + schema
	}
	return append(slices.Clip(judged), backends.Assistant(analysis), backends.User(request))
}

// BadOpinion returns the text that asks again for a reply that fits.
func BadOpinion(problem string) string { return strings.ReplaceAll(judgeAgain, "{problem}", problem) }

// boundsOf limits an analysis, so that it fits the output that its model may have: a grammar that a server
// enforces needs limits, or a small model may write for ever. Of fewer than 1,000 tokens the JSON takes
// most. A list then has one item, without what only some answers say and without quotations in
// contradictions: with three answers, indented, some 400 tokens.
func boundsOf(tokens int) bounds {
	if tokens == 0 {
		return bounds{}
	}
	if tokens < 1000 {
		return bounds{isBounded: true, items: 1, isShort: true, text: 50, quotation: 20}
	}
	return bounds{isBounded: true, items: min(tokens/1000, 10), partial: min(tokens/1000, 10), text: 200, quotation: 120}
}

// bounds are the most items of a list, and characters of a text.
type bounds struct {
	isBounded, isShort              bool
	items, partial, text, quotation int
}

// most returns a keyword of a schema with its limit, "" without bounds.
func (b bounds) most(keyword string, limit int) string {
	if !b.isBounded {
		return ""
	}
	return fmt.Sprintf(`,"%s":%d`, keyword, limit)
}

// analysisSchema returns the JSON Schema of an analysis of the answers of some agents.
func analysisSchema(names []string, b bounds) json.RawMessage {
	name := `{"type":"string","enum":["` + strings.Join(names, `","`) + `"]}`
	list := func(of, limit string) string { return `{"type":"array","items":` + of + limit + `}` }
	items, text := b.most("maxItems", b.items), `{"type":"string"`+b.most("maxLength", b.text)+`}`
	answers := list(name, b.most("minItems", 1)+b.most("maxItems", len(names)))
	quote := object("answer", name, "text", `{"type":"string"`+b.most("maxLength", b.quotation)+`}`)
	claim := object("claim", text, "answers", answers, "quotes", list(quote, b.most("maxItems", 1)))
	side := claim
	if b.isShort {
		side = object("claim", text, "answers", answers, "quotes", list(quote, b.most("maxItems", 0)))
	}
	about := object("about", text, "sides", list(side, b.most("maxItems", 2)))
	return json.RawMessage(object(
		"consensus", list(claim, items), "partial", list(claim, b.most("maxItems", b.partial)), "unique", list(claim, items),
		"contradictions", list(about, items), "blind_spots", list(text, items), "best", name, "why", text,
	))
}

// object returns the schema of an object with all of some properties, given as names and schemas.
func object(properties ...string) string {
	var each, names []string
	for i := 0; i < len(properties); i += 2 {
		each = append(each, `"`+properties[i]+`":`+properties[i+1])
		names = append(names, `"`+properties[i]+`"`)
	}
	return `{"type":"object","properties":{` + strings.Join(each, ",") + `},"required":[` + strings.Join(names, ",") + `],"additionalProperties":false}`
}

// Analysis compares answers. Answers in it have the names that models use, or, for people, labels.
type Analysis struct {
	Consensus      []Claim         `json:"consensus"`
	Partial        []Claim         `json:"partial"`
	Unique         []Claim         `json:"unique"`
	Contradictions []Contradiction `json:"contradictions"`
	BlindSpots     []string        `json:"blind_spots"`
	Best           string          `json:"best"`
	Why            string          `json:"why"`
}

// Claim is a claim with the answers that make it.
type Claim struct {
	Claim   string   `json:"claim"`
	Answers []string `json:"answers"`
	Quotes  []Quote  `json:"quotes"`
}

// Quote is a quotation. Found reports whether it stands in its answer, white space aside.
type Quote struct {
	Answer string `json:"answer"`
	Text   string `json:"text"`
	Found  bool   `json:"found"`
}

// Contradiction is a point on which answers contradict each other.
type Contradiction struct {
	About string  `json:"about"`
	Sides []Claim `json:"sides"`
}

// Renamed returns the analysis with other names of the answers.
func (a Analysis) Renamed(name func(string) string) Analysis {
	return a.mapped(name, func(text string) string { return text })
}

// Rewritten returns the analysis with other texts, such as texts without secrets.
func (a Analysis) Rewritten(text func(string) string) Analysis {
	return a.mapped(func(name string) string { return name }, text)
}

// mapped returns the analysis with other names of the answers and other texts.
func (a Analysis) mapped(name, text func(string) string) Analysis {
	claims := func(list []Claim) []Claim {
		mapped := make([]Claim, len(list))
		for i, c := range list {
			mapped[i] = Claim{text(c.Claim), each(c.Answers, name), make([]Quote, len(c.Quotes))}
			for j, q := range c.Quotes {
				mapped[i].Quotes[j] = Quote{name(q.Answer), text(q.Text), q.Found}
			}
		}
		return mapped
	}
	a.Consensus, a.Partial, a.Unique = claims(a.Consensus), claims(a.Partial), claims(a.Unique)
	points := make([]Contradiction, len(a.Contradictions))
	for i, c := range a.Contradictions {
		points[i] = Contradiction{text(c.About), claims(c.Sides)}
	}
	a.Contradictions, a.BlindSpots, a.Best, a.Why = points, each(a.BlindSpots, text), name(a.Best), text(a.Why)
	return a
}

// each returns the results of a function for the texts of a list.
func each(list []string, f func(string) string) []string {
	results := make([]string, len(list))
	for i, text := range list {
		results[i] = f(text)
	}
	return results
}

// Items returns the claims of all lists, in their order.
func (a Analysis) Items() []Claim {
	items := slices.Concat(a.Consensus, a.Partial, a.Unique)
	for _, c := range a.Contradictions {
		items = append(items, c.Sides...)
	}
	return items
}

// The most items of a list, and the most characters of a text, that are kept of an analysis.
const (
	mostItems    = 50
	mostItemText = 2000
)

// Judged are the answers that a judge was shown. Name returns the name of the answer that the judge
// means by a name, "" if there is none. Text returns the text of an answer by its name.
type Judged struct {
	Name func(string) string
	Text func(name string) string
}

// ReadAnalysis reads an analysis in a model's text. It drops what does not fit. problem says why the
// text as a whole does not fit, "" if it does.
func (j Judged) ReadAnalysis(text string) (a Analysis, problem string) {
	fields, problem := fieldsIn(text)
	if problem != "" {
		return a, problem
	}
	best := nameIn(fields["best"])
	if best == "" {
		return a, "best is missing"
	}
	if a.Best = j.Name(best); a.Best == "" {
		return a, fmt.Sprintf("best names %q, and there is no such answer", plain.Cut(Clean(best), 40))
	}
	a.Why = textIn(fields["why"])
	a.Consensus, a.Partial, a.Unique = j.claims(fields["consensus"]), j.claims(fields["partial"]), j.claims(fields["unique"])
	a.Contradictions = []Contradiction{}
	for _, item := range listIn(fields["contradictions"]) {
		point := objectIn(item)
		c := Contradiction{textIn(point["about"]), j.claims(point["sides"])}
		if c.About != "" && len(c.Sides) > 0 {
			a.Contradictions = append(a.Contradictions, c)
		}
	}
	a.BlindSpots = []string{}
	for _, item := range listIn(fields["blind_spots"]) {
		if spot := textIn(item); spot != "" {
			a.BlindSpots = append(a.BlindSpots, spot)
		}
	}
	return a, ""
}

// claims reads a list of claims.
func (j Judged) claims(raw json.RawMessage) []Claim {
	list := []Claim{}
	for _, item := range listIn(raw) {
		fields := objectIn(item)
		c := Claim{Claim: textIn(fields["claim"]), Answers: []string{}, Quotes: []Quote{}}
		for _, answer := range listIn(fields["answers"]) {
			if name := j.Name(nameIn(answer)); name != "" && !slices.Contains(c.Answers, name) {
				c.Answers = append(c.Answers, name)
			}
		}
		for _, quote := range listIn(fields["quotes"]) {
			if q, ok := j.quote(objectIn(quote)); ok {
				c.Quotes = append(c.Quotes, q)
			}
		}
		if c.Claim != "" && len(c.Answers) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// quote reads a quotation, and looks it up. Models were shown the answer with its delimiters
// escaped.
func (j Judged) quote(fields map[string]json.RawMessage) (q Quote, ok bool) {
	named := nameIn(fields["answer"])
	q.Text, q.Answer = textIn(fields["text"]), j.Name(named)
	if q.Text == "" || named == "" {
		return q, false
	}
	if q.Answer == "" {
		q.Answer = plain.Cut(Clean(named), lineLength)
		return q, true
	}
	answer, wanted := Clean(j.Text(q.Answer)), joinWords(q.Text)
	q.Found = strings.Contains(joinWords(answer), wanted) || strings.Contains(joinWords(escape(answer)), wanted)
	return q, true
}

func joinWords(text string) string { return strings.Join(strings.Fields(text), " ") }

// ReadVerdict reads a verdict in a model's text. problem is as in ReadAnalysis.
func ReadVerdict(text string) (same bool, problem string) {
	fields, problem := fieldsIn(text)
	if problem != "" {
		return false, problem
	}
	if err := json.Unmarshal(fields["same"], &same); err != nil {
		return false, "same is neither true nor false"
	}
	return same, ""
}

// fieldsIn returns the members of the JSON object in a text. A service that cannot enforce a schema
// may put the object into a fence or prose.
func fieldsIn(text string) (fields map[string]json.RawMessage, problem string) {
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start {
		return nil, "there is no JSON object in it"
	}
	if err := json.Unmarshal([]byte(text[start:end+1]), &fields); err != nil {
		return nil, fmt.Sprintf("its JSON is not valid (%s)", Clean(err.Error()))
	}
	return fields, ""
}

func objectIn(raw json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

func listIn(raw json.RawMessage) (list []json.RawMessage) {
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list[:min(len(list), mostItems)]
}

func textIn(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return plain.Cut(strings.TrimSpace(Clean(text)), mostItemText)
}

// nameIn reads the name of an answer, which may be a number.
func nameIn(raw json.RawMessage) string {
	var number json.Number
	if json.Unmarshal(raw, &number) == nil && len(raw) > 0 && raw[0] != '"' {
		return number.String()
	}
	return textIn(raw)
}
