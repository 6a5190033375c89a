package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/httpclient"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/system/secrets"
)

// Exporter follows turns and sends their spans and metrics. It is safe for concurrent use.
type Exporter struct {
	settings
	client *http.Client
	warn   func(string)
	lost   sync.Once
	redact func(string) string

	mu        sync.Mutex // guards metrics and performed
	metrics   *metrics
	performed []*span // of effects, to be sent soon
	closing   chan struct{}
	work      sync.WaitGroup
}

// settings are the settings in the environment.
type settings struct {
	traces, metricsTo string // URLs, "" to send none
	headers           http.Header
	timeout           time.Duration
	resource          []attribute
	hasContent        bool
}

// delay is the time between two batches of a running turn's spans.
const delay = 5 * time.Second

// New returns an exporter for the standard variables of OpenTelemetry, nil if they ask for none.
// redact masks secrets in requests, secret gets the headers, and warn gets the first error of sending.
// The error names the wrong variable.
func New(lookup func(string) (string, bool), version string, redact func(string) string, secret func(name, value string), warn func(string)) (*Exporter, error) {
	s, err := read(func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}, version)
	if err != nil || s.traces == "" && s.metricsTo == "" {
		return nil, err
	}
	for name, values := range s.headers {
		secret(name, values[0])
	}
	for _, address := range []string{s.traces, s.metricsTo} {
		for _, key := range secrets.InURL(address) {
			secret("OTEL_EXPORTER_OTLP_ENDPOINT", key)
		}
	}
	client := httpclient.New(httpclient.NewTransport(httpclient.HTTP2Limits(s.timeout)), "OTEL_EXPORTER_OTLP_ENDPOINT")
	client.Timeout = s.timeout
	return &Exporter{settings: s, client: client, warn: warn, redact: redact, metrics: newMetrics(time.Now()), closing: make(chan struct{})}, nil
}

func read(get func(string) string, version string) (s settings, err error) {
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") {
		return s, nil
	}
	if s.traces, err = address(get, "TRACES"); err != nil {
		return s, err
	}
	if s.metricsTo, err = address(get, "METRICS"); err != nil {
		return s, err
	}
	if s.traces == "" && s.metricsTo == "" {
		return s, nil
	}
	s.headers = http.Header{}
	pairs, err := list(get, "OTEL_EXPORTER_OTLP_HEADERS")
	if err != nil {
		return s, err
	}
	for _, p := range pairs {
		s.headers.Set(p.key, p.value.(string))
	}
	s.timeout = 10 * time.Second
	if text := get("OTEL_EXPORTER_OTLP_TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return s, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %q is no number of milliseconds", plain.Cut(plain.Line(text), 40))
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	if s.resource, err = list(get, "OTEL_RESOURCE_ATTRIBUTES"); err != nil {
		return s, err
	}
	name := get("OTEL_SERVICE_NAME")
	kept := s.resource[:0]
	for _, a := range s.resource {
		if a.key == "service.name" {
			name = cmp.Or(name, a.value.(string))
			continue
		}
		kept = append(kept, a)
	}
	s.resource = append(kept, attribute{"service.name", cmp.Or(name, "massgen")}, attribute{"service.version", version})
	switch strings.ToLower(get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")) {
	case "true", "1", "span_only", "span_and_event":
		s.hasContent = true
	}
	return s, nil
}

// address returns the URL for a signal, "" for a signal that is off. An address or an exporter in the
// environment turns the signal on.
func address(get func(string) string, signal string) (string, error) {
	exporter := get("OTEL_" + signal + "_EXPORTER")
	own, all := "OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
	switch {
	case exporter == "none", exporter == "" && get(own) == "" && get(all) == "":
		return "", nil
	case exporter != "" && exporter != "otlp":
		return "", fmt.Errorf("OTEL_%s_EXPORTER: %q is neither otlp nor none", signal, plain.Cut(plain.Line(exporter), 40))
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := get(name); protocol {
		case "", "http/json":
		case "http/protobuf": // collectors accept both at the same address
		default:
			return "", fmt.Errorf("%s: %q is not supported: massgen sends http/json", name, plain.Cut(plain.Line(protocol), 40))
		}
	}
	text, name := get(own), own
	if text == "" {
		text, name = cmp.Or(get(all), "http://localhost:4318"), all
	}
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return "", fmt.Errorf("%s is no address such as http://localhost:4318", name)
	}
	if name == all {
		return at.JoinPath("v1", strings.ToLower(signal)).String(), nil
	}
	return text, nil
}

// list reads a variable of the form key=value,key=value, whose values may be percent-encoded.
func list(get func(string) string, name string) (pairs []attribute, err error) {
	for pair := range strings.SplitSeq(get(name), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !found || key == "" || err != nil || strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("%s is no list of the form key=value,key=value", name)
		}
		pairs = append(pairs, attribute{key, value})
	}
	return pairs, nil
}

// Follow sends the spans and metrics of a turn's events until they end. It returns at once. If the collector leaves one
// request without an answer, it gets no other about this turn: the program would wait for each.
func (e *Exporter) Follow(of Of, events iter.Seq[report.Event]) {
	e.work.Go(func() {
		p := newProjection(of, e.hasContent, e.redact)
		var waiting []*span
		last, isThere := time.Now(), true
		for ev := range events {
			ended := p.apply(ev)
			e.record(ended)
			waiting = append(waiting, ended...)
			if isThere && len(waiting) > 0 && time.Since(last) > delay {
				isThere = e.sendSpans(waiting)
				waiting, last = nil, time.Now()
			}
		}
		if isThere {
			var both sync.WaitGroup
			both.Go(func() { e.sendSpans(waiting) })
			both.Go(e.sendMetrics)
			both.Wait()
		}
	})
}

// Close waits until everything about the followed turns and the performed effects is sent. The turns must have ended.
// It must be called once.
func (e *Exporter) Close() {
	close(e.closing)
	e.work.Wait()
	e.client.CloseIdleConnections()
}

func (e *Exporter) record(spans []*span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range spans {
		e.metrics.record(s)
	}
}

func (e *Exporter) sendSpans(spans []*span) (isThere bool) {
	if e.traces == "" || len(spans) == 0 {
		return true
	}
	return e.send(e.traces, tracesJSON(e.resource, spans))
}

func (e *Exporter) sendMetrics() {
	if e.metricsTo == "" {
		return
	}
	e.mu.Lock()
	request := e.metrics.json(e.resource, time.Now())
	e.mu.Unlock()
	e.send(e.metricsTo, request)
}

// send posts a request. The first failure is reported; the data of failed requests is lost. isThere reports whether the
// collector did anything but keep silent.
func (e *Exporter) send(to string, request object) (isThere bool) {
	err := e.post(to, request)
	if err != nil {
		e.lost.Do(func() { e.warn(e.redact(err.Error()) + ": telemetry is lost") })
	}
	return !errors.Is(err, context.DeadlineExceeded)
}

func (e *Exporter) post(to string, request object) (err error) {
	line, err := plain.JSONLine(request)
	if err != nil {
		return fmt.Errorf("write telemetry: %w", err)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, to, bytes.NewReader([]byte(e.redact(line))))
	if err != nil {
		return fmt.Errorf("send telemetry: %w", err)
	}
	r.Header = e.headers.Clone()
	r.Header.Set("Content-Type", "application/json")
	response, err := e.client.Do(r)
	if of := (*url.Error)(nil); errors.As(err, &of) { // its text has the address, which may have a key
		err = fmt.Errorf("%s: %w", r.URL.Host, of.Err)
	}
	if err != nil {
		return fmt.Errorf("send telemetry: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)); err != nil {
		return fmt.Errorf("send telemetry: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("send telemetry: the collector answers %s", response.Status)
	}
	return nil
}
