package engine

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/metrics"
)

// TestOwnQueuesHaveOneName: the queue that one worker alone listens to makes no series of its own.
func TestOwnQueuesHaveOneName(t *testing.T) {
	m := metrics.New()
	for _, queue := range []string{"massgen" + ownQueue + "a" + signedEnd, "massgen" + ownQueue + "b", "massgen/1f/texts"} {
		sdkMetrics{registry: m}.WithTags(map[string]string{"task_queue": queue, "poller_type": "none"}).Gauge("slots").Update(1)
	}
	var series []string
	for line := range strings.Lines(m.Text()) {
		if !strings.HasPrefix(line, "#") {
			series = append(series, strings.TrimSpace(line))
		}
	}
	if got, want := strings.Join(series, "\n"), "slots{task_queue=\"massgen/1f/texts\"} 1\nslots{task_queue=\"own\"} 1"; got != want {
		t.Errorf("series:\n%s\nwant:\n%s", got, want)
	}
}

// TestEachLostCallIsLogged, and each complaint of the SDK once a minute.
func TestEachLostCallIsLogged(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newCalm(slog.NewTextHandler(&out, nil), nil))
	for range 3 {
		log.Warn(lostMessage)
		log.Warn("something of the SDK")
	}
	if lost, others := strings.Count(out.String(), lostMessage), strings.Count(out.String(), "something"); lost != 3 || others != 1 {
		t.Errorf("%d lost calls and %d complaints are logged, not 3 and 1", lost, others)
	}
}

// TestALostCallNamesItsTurnAndAgent as other lines about calls do.
func TestALostCallNamesItsTurnAndAgent(t *testing.T) {
	of := effect.Turn{Turn: 3, Agents: []effect.Agent{{ID: "ada"}, {ID: "bob"}}}
	for agent, want := range map[int]string{1: "turn=3 agent=bob call=", effect.NoAgent: `turn=3 agent="" call=`} {
		var out bytes.Buffer
		slog.New(slog.NewTextHandler(&out, nil)).Warn(lostMessage, lostAttrs("s", &of, effect.Key{Agent: agent, Purpose: effect.Coordination})...)
		if !strings.Contains(out.String(), "session=s "+want) {
			t.Errorf("logged: %s", out.String())
		}
	}
}

// TestMetricsFileHasTheStatuses with which workflows end: alerts are written from it.
func TestMetricsFileHasTheStatuses(t *testing.T) {
	text, err := os.ReadFile("../../deploy/metrics.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "name: "+metrics.WorkflowsEndedTotal().Name+",") {
			continue
		}
		for _, status := range endings() {
			if !strings.Contains(line, status) {
				t.Errorf("no %s in: %s", status, line)
			}
		}
		return
	}
	t.Error("it has no such metric")
}

// TestRefusalsAreForTheClient: a turn that did not begin is no workflow that failed.
func TestRefusalsAreForTheClient(t *testing.T) {
	for kind, want := range map[string]bool{busyKind: true, declinedKind: true, forgottenKind: true, refusedKind: false, unsentKind: false} {
		if got := isForClient(temporal.NewNonRetryableApplicationError("no", kind, nil)); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
