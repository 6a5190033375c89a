package debugbackend

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"gopkg.in/yaml.v3"
)

// Script is what a scripted model does: a list of rules, of which the first that
// matches a request gives the reply. It is not changed after it was parsed. In
// YAML:
//
//	rules:
//	  - when:                          # all that are given must hold
//	      agent: ada                   # these five are the key of the request
//	      turn: 1                      # numbers may be open: 2+
//	      round: 2+
//	      index: 0
//	      purpose: coordination
//	      answers: 3                   # how many answers are shown
//	      contains: Paris              # in the last message
//	      answer_contains: Paris       # in one of the answers shown
//	      last_answer_contains: Paris  # in the last of them
//	      may_answer: true             # is new_answer offered?
//	      may_vote: true               # is vote offered?
//	      tools: [search]              # all of these are offered; []: none is
//	      last: user                   # the role of the last message
//	    reply:
//	      delay: 300ms                 # spread over reasoning and chunks
//	      reasoning: Let me see.
//	      text: You ask, {{short .Question}}
//	      chunks: 4                    # of the text
//	      new_answer: "{{.Agent}} says: Paris."
//	      vote: {agent: agent2, reason: It is short.}
//	      tool_calls: [{id: call_1, name: search, arguments: {q: Paris}}]
//	      usage: {input_tokens: 9, output_tokens: 3, cached_input_tokens: 0, reasoning_tokens: 2}
//	      finish: stop
//
// A vote's agent is agentN, or first, last, own or most_recent among the answers
// shown; containing is a text of the answer, in place of agent. The arguments
// of a tool call may be a text, which need not be JSON. usage: none is a provider
// that tells none. In place of usage and finish a stream can end with error
// {kind, message, status, retry_after}, cut: true (no end mark), hang: true (until
// it is cancelled) or panic: "…". A request whose reply must fit a schema
// (tool_mode: json) gets an act as such an object, without the text; may_answer and
// may_vote look for the act in the schema then.
//
// A text is a template of [text/template] over .Question, .Turn, .Round, .Agent and
// .Answers (each with .ID and .Text). Beside its functions there are {{short TEXT}},
// which cuts the first line to 80 characters, and {{oneof KEY A B …}}, which makes
// the same choice each time for the same key.
type Script struct{ rules []rule }

type rule struct {
	When  when  `yaml:"when"`
	Reply reply `yaml:"reply"`
	line  int
}

// when holds conditions that must all be true. One that is not given is true.
type when struct {
	Agent   string `yaml:"agent"`
	Purpose string `yaml:"purpose"`
	Turn    span   `yaml:"turn"`
	Round   span   `yaml:"round"`
	Index   span   `yaml:"index"`
	// Answers is how many current answers the input shows.
	Answers span `yaml:"answers"`
	// Contains is looked for in the last message.
	Contains           *words `yaml:"contains"`
	AnswerContains     *words `yaml:"answer_contains"`
	LastAnswerContains *words `yaml:"last_answer_contains"`
	MayAnswer          *bool  `yaml:"may_answer"`
	MayVote            *bool  `yaml:"may_vote"`
	// Tools must all be offered; an empty list wants none to be.
	Tools *[]string     `yaml:"tools"`
	Last  backends.Role `yaml:"last"`
}

// reply is what comes back, in the order of the fields from Reasoning to
// ToolCalls, and then how the stream ends.
type reply struct {
	// Delay is spread evenly over the reasoning and the chunks of the text.
	Delay     duration   `yaml:"delay"`
	Chunks    int        `yaml:"chunks"`
	Reasoning *words     `yaml:"reasoning"`
	Text      *words     `yaml:"text"`
	NewAnswer *words     `yaml:"new_answer"`
	Vote      *vote      `yaml:"vote"`
	ToolCalls []toolCall `yaml:"tool_calls"`
	Usage     *usage     `yaml:"usage"`
	Finish    string     `yaml:"finish"`
	Error     *failure   `yaml:"error"`
	Hang      bool       `yaml:"hang"`
	Cut       bool       `yaml:"cut"`
	Panic     string     `yaml:"panic"`
}

// vote names its target either by agent (agent2, or a rule of pickRules) or by
// a text that the answer contains.
type vote struct {
	Agent      target `yaml:"agent"`
	Containing *words `yaml:"containing"`
	Reason     *words `yaml:"reason"`
}

type toolCall struct {
	ID        string    `yaml:"id"`
	Name      string    `yaml:"name"`
	Arguments arguments `yaml:"arguments"`
}

type failure struct {
	Kind       errorKind `yaml:"kind"`
	Message    string    `yaml:"message"`
	Status     int       `yaml:"status"`
	RetryAfter duration  `yaml:"retry_after"`
}

// ParseScript reads a script in YAML. An error is one line that names the line
// of the script.
func ParseScript(data []byte) (*Script, error) {
	var file struct {
		Rules []rule `yaml:"rules"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("script: %w", readable(err))
	}
	if len(file.Rules) == 0 {
		return nil, errors.New("script: line 1: it has no rules")
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("script: it is more than one YAML document")
	}
	nodes, err := ruleNodes(data)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	for i := range file.Rules {
		file.Rules[i].line = nodes[i].Line
		if err := file.Rules[i].check(nodes[i]); err != nil {
			return nil, fmt.Errorf("script: line %d: %w", nodes[i].Line, err)
		}
	}
	return &Script{file.Rules}, nil
}

// ruleNodes returns the YAML of each rule, which knows its line.
func ruleNodes(data []byte) ([]yaml.Node, error) {
	var file struct {
		Rules []yaml.Node `yaml:"rules"`
	}
	err := yaml.Unmarshal(data, &file)
	return file.Rules, err
}

// readable turns the decoder's list of complaints, which speaks of Go types,
// into one line.
func readable(err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	lines := make([]string, len(wrong.Errors))
	for i, line := range wrong.Errors {
		line, _, _ = strings.Cut(line, " in type ")
		lines[i] = strings.Replace(line, "field ", "unknown key ", 1)
		lines[i] = strings.Replace(lines[i], " not found", "", 1)
	}
	return errors.New(strings.Join(lines, "; "))
}

func (r *rule) check(node yaml.Node) error {
	if !slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return n.Value == "reply" }) {
		return errors.New("the rule has no reply")
	}
	ends := 0
	for _, on := range []bool{r.Reply.Error != nil, r.Reply.Hang, r.Reply.Cut, r.Reply.Panic != ""} {
		if on {
			ends++
		}
	}
	if ends > 1 {
		return errors.New("a reply ends in one way: error, hang, cut or panic")
	}
	if r.Reply.Chunks < 0 {
		return errors.New("chunks is less than 0")
	}
	if e := r.Reply.Error; e != nil && e.Kind == "" {
		return errors.New("the error has no kind")
	}
	if v := r.Reply.Vote; v != nil && (v.Agent == "") == (v.Containing == nil) {
		return errors.New("a vote has either agent or containing")
	}
	for _, c := range r.Reply.ToolCalls {
		if c.Name == "" {
			return errors.New("a tool call has no name")
		}
	}
	switch r.When.Last {
	case "", backends.RoleSystem, backends.RoleUser, backends.RoleAssistant, backends.RoleTool:
		return nil
	}
	return fmt.Errorf("last: %q is not a role", r.When.Last)
}
