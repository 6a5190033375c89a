package agents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/schema"
)

// maxReason is the most characters of a vote's reason that are kept.
const maxReason = 1000

// replyReader extracts from a response the facts that the machines' rules need.
type replyReader struct {
	textStore
	turn *effect.Turn
	call effect.ModelCall
	// own are the agent's own tools at the time of the call.
	own []backends.Tool
	// permit is the member's Permit.
	permit func(tool, arguments string) (effect.Permission, string)
	shared *shared
	// citations are the sources of the answer that the reply may have.
	citations []backends.Citation
	schema    *schema.Schema // of the turn's answers, nil if any text is one
}

func newReplyReader(ctx context.Context, s *shared, turn *effect.Turn, call effect.ModelCall) replyReader {
	r := replyReader{textStore: textStore{ctx: ctx, cache: s.cache}, turn: turn, call: call, shared: s}
	if call.Sidecall == nil && !call.Key.Purpose.IsStepSummary() && !call.Key.Purpose.IsConsultation() {
		r.schema = schemaOf(&r.textStore, turn.Schema)
	}
	if call.Sidecall == nil {
		r.own = s.toolsOf(&r.textStore, toolsOffered{own: turn.ToolsOf(call), forwarded: call.Key.Purpose.IsAnswer(), notOwn: isJudge(call)}, r.schema)
	}
	return r
}

// read fills in the content of the response.
func (r *replyReader) read(resp backends.Response, reply *effect.ModelReply) error {
	message, hasMarkup := r.withCalls(resp.Message)
	reply.Message, reply.Markup = r.encode(message), hasMarkup
	said := message.Text()
	calls := message.ToolCalls()
	if r.call.JSON {
		calls = r.acts(said)
	}
	r.readHosted(message, reply)
	r.readCitations(message, calls, reply)
	switch {
	case hasMarkup: // it is no answer
	case r.call.Key.Purpose.IsConsultation():
		r.readOpinion(said, reply)
	case r.schema != nil:
		r.readForm(said, reply)
	case r.call.JSON || len(calls) > 0:
		reply.Text, reply.Hash = r.putText(said, nil)
	default:
		reply.Text, reply.Hash = r.answer(said)
	}
	reply.Value = ""
	if reply.Text != (blob.Ref{}) && len(calls) == 0 && !r.call.JSON {
		reply.Value = r.valueOf(said)
	}
	for _, tc := range calls {
		reply.Calls = append(reply.Calls, r.decodeCall(tc))
	}
	readEnding(resp, reply)
	if r.err != nil {
		return fmt.Errorf("read the reply of %s: %w", r.call.Key, r.err)
	}
	return nil
}

// readHosted records the message's calls of hosted tools.
func (r *replyReader) readHosted(m backends.Message, reply *effect.ModelReply) {
	reply.Hosted = nil
	for _, c := range m.HostedCalls() {
		reply.Hosted = append(reply.Hosted, effect.Hosted{Name: c.Name, Error: c.Error})
	}
}

// readCitations collects the sources of an answer. It reads the earlier messages of the step too: a model that
// answers by a tool has named its sources beside an earlier call.
func (r *replyReader) readCitations(m backends.Message, calls []backends.ToolCall, reply *effect.ModelReply) {
	reply.Citations = blob.Ref{}
	isAnswer := func(c backends.ToolCall) bool { return c.Name == effect.NewAnswer }
	if r.call.Sidecall != nil || len(calls) > 0 && !slices.ContainsFunc(calls, isAnswer) {
		return
	}
	for _, e := range r.call.Transcript {
		if e.Kind == effect.Assistant {
			r.cite(decoded[backends.Message](&r.textStore, e.Text))
		}
	}
	r.cite(m)
	if len(r.citations) > 0 {
		reply.Citations = r.encode(r.citations)
	}
}

// cite adds the sources of a message.
func (r *replyReader) cite(m backends.Message) {
	for _, c := range m.Citations() {
		if !slices.ContainsFunc(r.citations, func(o backends.Citation) bool { return o.URL == c.URL }) {
			r.citations = append(r.citations, c)
		}
	}
}

// readForm reads the text as an answer that has to fit the schema. If it does not, the reply says why.
func (r *replyReader) readForm(said string, reply *effect.ModelReply) {
	if strings.TrimSpace(said) == "" {
		return
	}
	text, problem, err := r.schema.InText(r.ctx, said)
	if err != nil {
		r.err = cmp.Or(r.err, err)
		return
	}
	if r.call.Key.Purpose.IsAnswer() {
		reply.Problem = contextbuild.Clean(problem)
	}
	reply.Text, reply.Hash = r.answer(text)
}

// usage returns the cost of a call that ended with err, or well: nil if the provider reported
// nothing for a call that it may have billed.
func usage(u *backends.Usage, err error) *effect.Usage {
	if u == nil {
		var failed *backends.Error
		if errors.As(err, &failed) && failed.Unbilled() {
			return &effect.Usage{CostUSD: new(float64)}
		}
		return nil
	}
	return &effect.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens,
		ReasoningTokens: u.ReasoningTokens, CostUSD: u.CostUSD,
	}
}

// putText stores a text with its sources, unless it is blank, and returns its normalised hash without them.
func (r *replyReader) putText(text string, sources []backends.Citation) (blob.Ref, string) {
	text = contextbuild.Clean(text)
	if strings.TrimSpace(text) == "" {
		return blob.Ref{}, ""
	}
	return r.put([]byte(contextbuild.Clean(withSources(text, sources)))), normalisedHash(text)
}

// answer stores an answer with its sources. One that fits a schema has no place for sources.
func (r *replyReader) answer(text string) (blob.Ref, string) {
	if r.schema != nil {
		return r.putText(text, nil)
	}
	return r.putText(text, r.citations)
}

// normalisedHash is the same for texts that differ only in white space.
func normalisedHash(text string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(text), " ")))
	return hex.EncodeToString(sum[:])
}

func (r *replyReader) decodeCall(tc backends.ToolCall) effect.Call {
	call := effect.Call{ID: tc.ID, Name: tc.Name}
	switch {
	case r.call.Key.Purpose == effect.Coordination && tc.Name == effect.NewAnswer:
		return r.decodeAnswer(call, tc.Arguments)
	case r.call.Key.Purpose == effect.Coordination && tc.Name == effect.Vote:
		return r.decodeVote(call, tc.Arguments)
	}
	call.Own = slices.ContainsFunc(r.own, func(t backends.Tool) bool { return t.Name == tc.Name })
	if call.Own && r.permit != nil {
		call.Permission, call.Why = r.permit(tc.Name, tc.Arguments)
		call.Why = contextbuild.Clean(call.Why)
	}
	return call
}

func (r *replyReader) decodeAnswer(call effect.Call, arguments string) effect.Call {
	args, problem := decodeArguments(arguments)
	content, ok := r.content(args, &problem)
	switch {
	case problem != "":
	case !ok:
		problem = "content is missing"
	case r.call.JSON && isPlaceholder(content):
		problem = "content is only the placeholder of the form: write your whole answer in its place"
	}
	if problem == "" && ok && r.isMarkup(content) {
		problem = "content is the text of a tool call: write your whole answer in its place, and quote calls only in code blocks"
	}
	if call.Problem = problem; problem != "" {
		return call
	}
	if call.Answer, call.Hash = r.answer(content); call.Answer != (blob.Ref{}) {
		call.Value = r.valueOf(content)
	}
	if call.Answer != (blob.Ref{}) && r.turn.Limits.MaxOverlap > 0 {
		call.Overlaps = r.overlaps(content)
	}
	return call
}

// content returns the content of a new answer. With a schema that is a value which fits it.
func (r *replyReader) content(args arguments, problem *string) (content string, ok bool) {
	if r.schema == nil {
		return args.text("content", problem)
	}
	value, ok := args["content"]
	if !ok || string(value) == "null" {
		return "", false
	}
	if *problem == "" {
		var err error
		if content, *problem, err = r.schema.InArgument(r.ctx, value); err != nil {
			r.err = cmp.Or(r.err, err)
		}
		if *problem != "" {
			*problem = contextbuild.Clean("content is no answer: " + *problem)
		}
	}
	return content, true
}

// overlaps compares a new answer with the answers that its author was shown, and with no others
// (rule 6).
func (r *replyReader) overlaps(content string) []int {
	answers := r.call.Current().Shown
	shares := make([]int, len(answers))
	for i, a := range answers {
		shares[i] = overlap(content, r.text(a.Text))
	}
	return shares
}

// overlap returns how many thousandths of the distinct words of a new answer an older one has,
// ignoring case.
func overlap(answer, older string) int {
	words := wordSet(answer)
	if len(words) == 0 {
		return 0
	}
	shared := 0
	seen := wordSet(older)
	for w := range words {
		if seen[w] {
			shared++
		}
	}
	return shared * 1000 / len(words)
}

func wordSet(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(strings.ToLower(text)) {
		words[w] = true
	}
	return words
}

func (r *replyReader) decodeVote(call effect.Call, arguments string) effect.Call {
	call.Target = -1
	args, problem := decodeArguments(arguments)
	agent, ok := args.name("agent_id", &problem)
	reason, _ := args.text("reason", &problem)
	if !ok && problem == "" {
		problem = "agent_id is missing"
	}
	if call.Problem = problem; problem != "" {
		return call
	}
	call.Target = r.shared.index(strings.TrimSpace(agent))
	if r.turn.Rule != "" {
		call.Others = r.others(args["others"])
	}
	if r.call.JSON && isPlaceholder(reason) {
		reason = ""
	}
	call.Reason = plain.Cut(contextbuild.Clean(strings.TrimSpace(reason)), maxReason)
	return call
}

// others reads the further names of a vote. It drops what is no agent.
func (r *replyReader) others(raw json.RawMessage) []int {
	var names []json.RawMessage
	if json.Unmarshal(raw, &names) != nil {
		return nil
	}
	var list []int
	for _, name := range names {
		var problem string
		if text, ok := (arguments{"": name}).name("", &problem); ok && problem == "" {
			if agent := r.shared.index(strings.TrimSpace(text)); agent >= 0 {
				list = append(list, agent)
			}
		}
	}
	return list
}

// arguments are the arguments of a call, by name. Lookups use exact names: encoding/json would
// accept AGENT_ID for agent_id, and the last of both.
type arguments map[string]json.RawMessage

// decodeArguments returns a call's arguments, or their fault.
func decodeArguments(text string) (arguments, string) {
	if strings.TrimSpace(text) == "" {
		return nil, "the arguments are missing"
	}
	var args arguments
	err := json.Unmarshal([]byte(text), &args)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType):
		return nil, "the arguments are not a JSON object"
	case err != nil:
		return nil, fmt.Sprintf("the arguments are not valid JSON (%s)", err)
	}
	return args, ""
}

// text returns a text argument, and whether it exists. An argument of another type is a
// problem, unless there is one already.
func (a arguments) text(name string, problem *string) (string, bool) {
	raw, ok := a[name]
	if !ok || string(raw) == "null" {
		return "", false
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil && *problem == "" {
		*problem = name + " is not a string"
	}
	return text, true
}

// name returns a text argument that may be a number, as text does.
func (a arguments) name(name string, problem *string) (string, bool) {
	if _, err := strconv.ParseUint(string(a[name]), 10, 32); err == nil {
		return string(a[name]), true
	}
	return a.text(name, problem)
}
