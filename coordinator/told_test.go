package coordinator

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/secrets"
)

// toldBy returns what publishes the texts of a panel of one agent, and a function that returns the published texts.
func toldBy(masking func() *secrets.Stream) (told *toldTexts, published func() string) {
	v := &view{panel: &Panel{opts: Options{Agents: []Agent{{ID: "ada"}}, Masking: masking}}, turn: &Turn{}}
	return &toldTexts{view: v}, func() string {
		var text strings.Builder
		for _, ev := range v.turn.events.events {
			switch ev := ev.event.(type) {
			case report.TextDelta:
				text.WriteString(ev.Text)
			case report.ToolCalled:
				text.WriteString(ev.Tool)
			}
		}
		return text.String()
	}
}

func maskingOf(secret string) func() *secrets.Stream {
	f := &secrets.Finder{}
	f.Add(secret)
	return f.Stream
}

// TestTextOfAnAbandonedCallIsNotPublished: the call goes on to write beside the end of its text and after it.
func TestTextOfAnAbandonedCallIsNotPublished(t *testing.T) {
	key := effect.Key{Round: 1, Purpose: effect.Coordination}
	const secret = "sk-abcdefgh-12345678"
	for name, masking := range map[string]func() *secrets.Stream{"with secrets": maskingOf(secret), "without secrets": nil} {
		t.Run(name, func(t *testing.T) {
			told, published := toldBy(masking)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 1000 {
					told.observe(key, agents.Told{Text: "sk-abcdefgh"})
				}
			}()
			told.end(key, false)
			<-done
			before := published()
			told.observe(key, agents.Told{Text: "too late"})
			told.observe(key, agents.Told{Tool: "too late"})
			if text := published(); text != before || len(told.masks) > 0 {
				t.Errorf("after the end %q is published, and %d masks are kept", strings.TrimPrefix(text, before), len(told.masks))
			}
		})
	}
}

// TestAnotherAttemptIsPublished without the held-back end of the attempt before.
func TestAnotherAttemptIsPublished(t *testing.T) {
	told, published := toldBy(maskingOf("sk-abcdefgh-12345678"))
	key := effect.Key{Round: 1, Purpose: effect.Coordination}
	told.observe(key, agents.Told{Text: "first sk-"})
	told.end(key, true)
	told.observe(key, agents.Told{Text: "second sk-"})
	told.end(key, false)
	if text := published(); text != "first second sk-" {
		t.Errorf("published is %q", text)
	}
}
