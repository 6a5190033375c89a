package main

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/proto"
)

var updateHistories = flag.Bool("update-histories", false, "record the histories of temporal/engine/testdata anew")

// mostPayload is how many bytes an event of a history may have: Temporal warns above it,
// and refuses what has eight times as many.
const mostPayload = 256 << 10

// dial connects to the server without the engine.
func (w *world) dial() client.Client {
	w.t.Helper()
	var c client.Client
	w.answered("the server", func() (err error) {
		c, err = client.Dial(client.Options{HostPort: w.address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
		return err
	})
	w.t.Cleanup(c.Close)
	return c
}

// workflow names the workflows of the session s.
func (w *world) workflow() string { return "massgen/" + w.queue() + "/s" }

// histories returns the histories of the session's last turn, one for each run of its workflow.
func (w *world) histories() (list []*historypb.History) {
	w.t.Helper()
	c := w.dial()
	for run := ""; ; {
		var h *historypb.History
		w.answered("the history of run "+run, func() (err error) {
			h, err = readHistory(c.GetWorkflowHistory(w.t.Context(), w.workflow(), run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT))
			return err
		})
		list = append(list, h)
		if run = h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); run == "" {
			return list
		}
	}
}

func readHistory(events client.HistoryEventIterator) (*historypb.History, error) {
	h := &historypb.History{}
	for events.HasNext() {
		ev, err := events.Next()
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, ev)
	}
	return h, nil
}

// answered repeats a call while the server exceeds the call's deadline. The SDK gives a call 10 seconds,
// and a busy machine may need longer.
func (w *world) answered(what string, ask func() error) {
	w.t.Helper()
	w.until(what, func() bool {
		err := ask()
		var late *serviceerror.DeadlineExceeded
		if errors.As(err, &late) {
			return false
		}
		ok(w.t, err)
		return true
	})
}

// checkHistories holds the last turn's histories against what Temporal takes, and records
// them for who asks for that.
func (w *world) checkHistories(name string) {
	w.t.Helper()
	list := w.histories()
	most, events := 0, 0
	for i, h := range list {
		events += len(h.Events)
		for _, ev := range h.Events {
			most = max(most, proto.Size(ev))
		}
		if *updateHistories && w.settings.InlineLimit == 0 { // with one it names texts of a store that is gone
			w.record(name, i, h)
		}
	}
	w.t.Logf("%d runs, %d events, of which the largest has %d bytes", len(list), events, most)
	if most > mostPayload {
		w.t.Errorf("an event has %d bytes, more than %d", most, mostPayload)
	}
}

// record writes a history without the name of the machine.
func (w *world) record(name string, run int, h *historypb.History) {
	w.t.Helper()
	data, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
	ok(w.t, err)
	data = regexp.MustCompile(`"(identity|stickyName|normalName)": *"[^"]*"`).ReplaceAll(data, []byte(`"$1": "worker"`))
	host, err := os.Hostname()
	ok(w.t, err)
	text := strings.ReplaceAll(string(data), host, "machine")
	file := strings.ReplaceAll(name, " ", "_")
	if run > 0 {
		file += "_before"
	}
	dir := filepath.Join("..", "..", "engine", "testdata", "histories", "turns_by_texts")
	ok(w.t, os.MkdirAll(dir, 0o755))
	ok(w.t, os.WriteFile(filepath.Join(dir, file+".json"), []byte(text+"\n"), 0o644))
}
