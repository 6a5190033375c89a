package debugbackend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// Print writes the calls for people to read: messages, tools, the schema that the
// reply must fit, if there is one, parameters, the request body, and what came back.
// Who is who in the inputs is said where it changes, which is before the first.
// Control characters are shown as escapes, so that no text can play tricks on a
// terminal.
func Print(w io.Writer, calls []Call) error {
	for i, c := range calls {
		var b strings.Builder
		if i > 0 {
			b.WriteString("\n" + strings.Repeat("=", 72) + "\n\n")
		}
		if legend := c.legend(); legend != "" && (i == 0 || legend != calls[i-1].legend()) {
			b.WriteString(legend + "\n\n")
		}
		c.print(&b)
		if _, err := io.WriteString(w, b.String()); err != nil {
			return fmt.Errorf("print inputs: %w", err)
		}
	}
	return nil
}

func (c Call) print(b *strings.Builder) {
	req := c.Request
	fmt.Fprintf(b, "%s\n", c.title())
	if req.Key.Session != "" {
		fmt.Fprintf(b, "session: %s\n", visible(req.Key.Session))
	}
	fmt.Fprintf(b, "model: %s\n", visible(req.Model))
	if !c.isKept() {
		fmt.Fprintf(b, "times: %s\n", c.times())
	}
	fmt.Fprintf(b, "characters: %s\n", c.Chars)
	if req.History != "" {
		fmt.Fprintf(b, "history: %s\n", visible(req.History))
	}
	if len(req.ToolTimes) > 0 {
		fmt.Fprintf(b, "tools took: %s\n", visible(toolTimes(req.ToolTimes)))
	}
	for _, m := range req.Messages {
		heading(b, fmt.Sprintf("%s (%s)", m.Role, counted(countChars([]backends.Message{m}).Total, "character")))
		b.WriteString(visible(messageLines(m)))
	}
	heading(b, fmt.Sprintf("tools (%d)", len(req.Tools)))
	b.WriteString(visible(toolLines(req.Tools)))
	if len(req.Schema) > 0 {
		heading(b, "schema of the reply")
		b.WriteString(visible(schemaLines(req.Schema)))
	}
	heading(b, "parameters")
	b.WriteString(visible(paramLines(req.Params)))
	for _, body := range c.EarlierBodies {
		printBytes(b, "earlier request body", body)
	}
	if !c.isKept() {
		printBytes(b, "request body", c.Body)
	}
	heading(b, c.responseHeading())
	b.WriteString(visible(c.responseLines()))
}

// responseHeading marks a message that is not whole.
func (c Call) responseHeading() string {
	isCut := c.Error != nil && len(c.Error.Cut) > 0
	if c.Outcome == OutcomeEnded || len(c.Response.Message.Parts) == 0 && !isCut {
		return "response"
	}
	return "response (partial: as far as it came, and no answer)"
}

// toolTimes is "search (call_1) 0.200 s, read (call_2) 0.001 s".
func toolTimes(times []backends.ToolTime) string {
	words := make([]string, len(times))
	for i, t := range times {
		words[i] = fmt.Sprintf("%s (%s) %s", t.Name, t.CallID, seconds(time.Duration(t.MS)*time.Millisecond))
	}
	return strings.Join(words, ", ")
}

// legend is "agent1 = analyst, agent2 = critic", or empty.
func (c Call) legend() string {
	names := slices.SortedFunc(maps.Keys(c.Participants), func(a, b string) int {
		return strings.Compare(plain.SortKey(a), plain.SortKey(b)) // agent2 before agent10
	})
	for i, name := range names {
		names[i] = name + " = " + c.Participants[name]
	}
	return visible(strings.Join(names, ", "))
}

// title names the call in one line.
func (c Call) title() string {
	k := c.Request.Key
	title := k.String()
	if k.Agent == "" {
		title = fmt.Sprintf("turn %d, no agent, %s %d", k.Turn, k.Purpose, k.Index)
	}
	title += fmt.Sprintf(" (call %d", c.Number)
	if c.Attempt > 1 {
		title += fmt.Sprintf(", attempt %d", c.Attempt)
	}
	return visible(title) + ")"
}

func (c Call) times() string {
	line := "started " + c.Start.Format("2006-01-02 15:04:05.000 MST")
	if !c.FirstByte.IsZero() {
		line += ", first byte after " + seconds(c.FirstByte.Sub(c.Start))
	}
	if c.End.IsZero() {
		return line + ", still running"
	}
	return line + ", ended after " + seconds(c.End.Sub(c.Start))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// String is "system 389, user 179, total 568"; what models and tools said is
// named if there is any.
func (c Chars) String() string {
	line := fmt.Sprintf("system %s, user %s, ", plain.Thousands(c.System), plain.Thousands(c.User))
	if c.Other > 0 {
		line += fmt.Sprintf("models and tools %s, ", plain.Thousands(c.Other))
	}
	return line + "total " + plain.Thousands(c.Total)
}

func heading(b *strings.Builder, text string) { fmt.Fprintf(b, "\n--- %s ---\n", text) }

func messageLines(m backends.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Text:
			b.WriteString(p.Text)
		case backends.Reasoning:
			fmt.Fprintf(&b, "[reasoning] %s", p.Text)
		case backends.Image:
			fmt.Fprintf(&b, "[image %s]", imageSource(p))
		case backends.File:
			fmt.Fprintf(&b, "[file %s]\n", fileSource(p))
		case backends.ToolCall:
			fmt.Fprintf(&b, "[tool call %s, %s] %s", p.ID, p.Name, p.Arguments)
		case backends.ToolResult:
			kind := "tool result"
			if p.IsError {
				kind = "tool error"
			}
			fmt.Fprintf(&b, "[%s %s, %s] %s", kind, p.CallID, p.Name, p.Content)
			for _, f := range p.Files {
				fmt.Fprintf(&b, "\n[file %s]", fileSource(f))
			}
		case backends.HostedCall:
			fmt.Fprintf(&b, "[the provider ran %s] %s\n%s", p.Name, p.Arguments, p.Result)
		case backends.Citation:
			fmt.Fprintf(&b, "[source %s] %s", p.URL, p.Title)
		case backends.Opaque:
			fmt.Fprintf(&b, "[opaque, %s %s, %s]", p.Provider, p.Model, counted(len(p.Data), "byte"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// replyLines returns a reply for people. Calls of the coordination tools appear as texts, without the
// JSON around them.
func replyLines(m backends.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		call, isCall := p.(backends.ToolCall)
		text, isRead := "", false
		if isCall {
			text, isRead = actLines(call)
		}
		if !isRead {
			text = messageLines(backends.Message{Parts: []backends.Part{p}})
		}
		b.WriteString(text)
	}
	return b.String()
}

// actLines returns the texts of a call of new_answer or vote.
func actLines(call backends.ToolCall) (text string, ok bool) {
	if call.Name != toolNewAnswer && call.Name != toolVote {
		return "", false
	}
	var args struct {
		Content string `json:"content"`
		For     string `json:"agent_id"`
		Reason  string `json:"reason"`
	}
	d := json.NewDecoder(strings.NewReader(call.Arguments))
	d.DisallowUnknownFields()
	if d.Decode(&args) != nil {
		return "", false
	}
	if call.Name == toolNewAnswer {
		return fmt.Sprintf("[%s]\n%s\n", call.Name, args.Content), true
	}
	return fmt.Sprintf("[%s for %s]\n%s\n", call.Name, args.For, args.Reason), true
}

func imageSource(p backends.Image) string {
	if p.URL != "" {
		return p.URL
	}
	return fmt.Sprintf("%s, %s", p.MediaType, counted(len(p.Data), "byte"))
}

// fileSource returns a file's name, type, size and hash.
func fileSource(f backends.File) string {
	return fmt.Sprintf("%s, %s, %s, sha256 %s", f.Name, f.MediaType, counted(f.Content.Bytes, "byte"), f.Content.SHA256)
}

func toolLines(tools []backends.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		fmt.Fprintf(&b, "%s: %s\n", t.Name, t.Description)
		fmt.Fprintf(&b, "  %s\n", indented(t.Schema, "  "))
	}
	return b.String()
}

// schemaLines returns the schema of the reply, or "" if the request has none.
func schemaLines(schema json.RawMessage) string {
	if len(schema) == 0 {
		return ""
	}
	return indented(schema, "") + "\n"
}

// indented returns JSON with a line for each value. Other data stays as it is.
func indented(data []byte, prefix string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, data, prefix, "  "); err != nil {
		return string(data)
	}
	return b.String()
}

func paramLines(p backends.Params) string {
	compact, err := plain.JSON(p)
	if err != nil {
		return fmt.Sprintf("they cannot be shown: %v\n", err)
	}
	if string(compact) == "{}" {
		return "none: the provider's defaults\n"
	}
	return indented(compact, "") + "\n"
}

func printBytes(b *strings.Builder, name string, data []byte) {
	if data == nil {
		heading(b, name+" (none was sent)")
		return
	}
	heading(b, fmt.Sprintf("%s (%s)", name, counted(len(data), "byte")))
	b.WriteString(visible(string(data)) + "\n")
}

func (c Call) responseLines() string {
	var b strings.Builder
	if c.isKept() && c.Outcome == "" {
		return "none: the call never came back\n"
	}
	b.WriteString(replyLines(c.Response.Message))
	if c.Error != nil {
		for _, call := range c.Error.Cut {
			fmt.Fprintf(&b, "[tool call %s, %s, cut] %s\n", call.ID, call.Name, call.Arguments)
		}
	}
	if c.Response.Finish != "" {
		fmt.Fprintf(&b, "finish: %s\n", c.Response.Finish)
	}
	if u := c.Response.Usage; u != nil {
		fmt.Fprintf(&b, "usage: %s input tokens (%s cached), %s output tokens%s%s\n", plain.Thousands(u.InputTokens),
			plain.Thousands(u.CachedInputTokens), plain.Thousands(u.OutputTokens), reasoning(u.ReasoningTokens), cost(u.CostUSD))
	} else {
		b.WriteString("usage: unknown\n")
	}
	if !c.isKept() {
		fmt.Fprintf(&b, "raw: %s, %s\n", counted(len(c.Raw), "byte"), counted(len(c.Events), "event"))
	}
	switch {
	case c.Error != nil && c.isKept():
		fmt.Fprintf(&b, "error: %s\n", c.Error.Message)
	case c.Error != nil:
		fmt.Fprintf(&b, "error: %v\n", c.Error)
	}
	switch c.Outcome {
	case outcomeLeft:
		b.WriteString("the reader stopped before the end\n")
	case outcomePanicked:
		b.WriteString("a panic ended the call\n")
	}
	return b.String()
}

// visible writes control characters and invalid UTF-8 as escapes. Newlines and tabs stay.
func visible(text string) string { return plain.Escape(text, "\n\t\u2028\u2029") }

// counted returns a number with its noun: "1 agent", "2 agents".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", plain.Thousands(n), noun)
}

// reasoning returns the part of the output tokens that was spent on thinking, if there is any.
func reasoning(tokens int) string {
	if tokens == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s reasoning)", plain.Thousands(tokens))
}

func cost(usd *float64) string {
	if usd == nil {
		return ""
	}
	return ", $" + strconv.FormatFloat(*usd, 'f', -1, 64)
}
