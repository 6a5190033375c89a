package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const deployFolder = "../../../deploy"

// prometheus is a server of Prometheus that scrapes a worker and a server each second, and has the alerts of deploy.
type prometheus struct {
	*world
	url string
}

// scraped starts it, for as long as the test runs.
func (x *seen) scraped() prometheus {
	x.t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		x.t.Fatalf("%v: install it, as with apt-get install prometheus", err)
	}
	alerts, err := filepath.Abs(filepath.Join(deployFolder, "prometheus", "alerts.yml"))
	ok(x.t, err)
	config := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - {job_name: massgen-worker, static_configs: [{targets: [%q]}]}
  - {job_name: massgen-serve, static_configs: [{targets: [%q]}]}
`, alerts, strings.TrimPrefix(x.shown[0], "http://"), strings.TrimPrefix(x.server.url, "http://"))
	file := filepath.Join(x.dir, "prometheus.yml")
	ok(x.t, os.WriteFile(file, []byte(config), 0o600))
	at, err := freeAddress()
	ok(x.t, err)
	run := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(x.dir, "prometheus"), "--web.listen-address="+at, "--log.level=warn")
	var said output
	run.Stdout, run.Stderr = &said, &said
	ok(x.t, run.Start())
	x.t.Cleanup(func() {
		_ = run.Process.Kill() // it may have ended
		_ = run.Wait()         // by that
		if x.t.Failed() {
			x.t.Logf("prometheus: %s", said.String())
		}
	})
	p := prometheus{x.world, "http://" + at}
	x.until("Prometheus is ready", func() bool {
		status, _ := get(p.url + "/-/ready")
		return status == http.StatusOK
	})
	return p
}

// values evaluates an expression, without values that are no number.
func (p prometheus) values(expression string) (values []float64) {
	p.t.Helper()
	_, text := get(p.url + "/api/v1/query?query=" + url.QueryEscape(expression))
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status != "success" {
		p.t.Fatalf("%s: %v, %s", expression, err, answer.Error)
	}
	for _, r := range answer.Data.Result {
		value, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		ok(p.t, err)
		if !math.IsNaN(value) {
			values = append(values, value)
		}
	}
	return values
}

// gives waits until an expression gives data.
func (p prometheus) gives(expression string) {
	p.t.Helper()
	p.until(expression+" gives data", func() bool { return len(p.values(expression)) > 0 })
}

// dashboard returns the expressions of the dashboard, over five minutes.
func dashboard(t *testing.T) (all []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(deployFolder, "grafana", "dashboards", "massgen.json"))
	ok(t, err)
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	ok(t, json.Unmarshal(data, &d))
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all = append(all, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	return all
}

var (
	selector     = regexp.MustCompile(`\b(?:up|(?:massgen|temporal|process|go)_[a-z_]+)\b(?:\{[^}]*\})?`)
	alternatives = regexp.MustCompile(`=~"([a-z_]+(?:\|[a-z_]+)+)"`)
)

// selected returns the metrics, with their labels, that the alerts name: for labels that may have one of several
// values, the metric with each.
func selected(t *testing.T) (all []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(deployFolder, "prometheus", "alerts.yml"))
	ok(t, err)
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	ok(t, yaml.Unmarshal(data, &rules))
	for _, r := range rules.Groups[0].Rules {
		found := selector.FindAllString(r.Expr, -1)
		if len(found) == 0 {
			t.Errorf("%s names no metric", r.Alert)
		}
		for _, s := range found {
			m := alternatives.FindStringSubmatch(s)
			if m == nil {
				all = append(all, s)
				continue
			}
			for value := range strings.SplitSeq(m[1], "|") {
				all = append(all, strings.Replace(s, m[0], `="`+value+`"`, 1))
			}
		}
	}
	return all
}

// TestPrometheusHasTheFigures: Prometheus scrapes a worker and a server during a turn. Then each expression of the
// dashboard and each metric with its labels that an alert names gives data, and Prometheus evaluates each alert.
func TestPrometheusHasTheFigures(t *testing.T) {
	t.Parallel()
	w := newWorldAlone(t)
	s := heldAgreement(t)
	x := w.idle(s, 1, s.agents(4)...) // Temporal hands up to three activities on with the task that begins them, and only the fourth waits in the queue
	p := x.scraped()
	p.gives("sum(massgen_turns_running) == 0") // a rate needs figures from before
	x.begin()
	x.state("running")
	for _, during := range []string{`massgen_turns_running{job="massgen-worker"} == 1`, `massgen_turns_running{job="massgen-serve",model="panel"} == 1`, "sum(massgen_calls_running) == 1"} {
		p.gives(during)
	}
	w.server.kill() // so that a request to it fails
	x.readies(x.shown[0], http.StatusServiceUnavailable, "Temporal is away\n")
	ok(t, w.server.start())
	x.readies(x.shown[0], http.StatusOK, "")
	s.free()
	x.state("idle")
	p.gives("sum(temporal_activity_schedule_to_start_latency_seconds_count) > 0")
	x.begin() // a series that appears with its first event has no rate before the second
	p.gives(`sum(massgen_turns_total{job="massgen-worker",status="completed"}) == 2`)
	expressions, metrics := dashboard(t), selected(t)
	if len(expressions) < 30 || len(metrics) < 20 {
		t.Fatalf("the dashboard has %d expressions, and the alerts name %d metrics", len(expressions), len(metrics))
	}
	for _, e := range append(expressions, metrics...) {
		p.gives(e)
	}
	p.until("Prometheus has evaluated each alert", func() bool {
		_, text := get(p.url + "/api/v1/rules")
		return strings.Count(text, `"health":"ok"`) > 15 && !strings.Contains(text, `"health":"unknown"`) && !strings.Contains(text, `"health":"err"`)
	})
}
