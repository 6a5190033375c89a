package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/system/metrics"
)

var updateReference = flag.Bool("update-reference", false, "write docs/metrics.md anew")

// TestMetricsPage: docs/metrics.md has all metrics, and deploy/metrics.yaml has them with the same kind and labels.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	const page, list = "../../../docs/metrics.md", "../../../deploy/metrics.yaml"
	text := `# Metrics

A worker shows these figures at ` + "`--metrics-listen`, and `massgen serve` at its own address:" + `

` + "```sh\ncurl http://127.0.0.1:9464/metrics\n```" + `

You see one line for each metric and set of labels, in the text form of Prometheus. A histogram ` + "`NAME`" + ` is shown as
` + "`NAME_bucket`, `NAME_sum` and `NAME_count`" + `. [operating.md](operating.md) says how failures look in them.

| Metric | Kind | Labels | Meaning |
| --- | --- | --- | --- |
`
	all := map[string]metrics.Metric{}
	for _, m := range metrics.All() {
		all[m.Name] = m
		text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.Name, m.Kind, labels(m.Labels), m.Help)
	}
	text += "\nThe figures of Temporal's SDK begin with `temporal_`; its documents describe them.\n"
	if *updateReference {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != text {
		t.Errorf("docs/metrics.md differs (%v): go test ./internal/system/metrics -run TestMetricsPage -update-reference writes it", err)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var deployed []struct {
		Name, Kind string
		Labels     []string
	}
	if err := yaml.Unmarshal(data, &deployed); err != nil {
		t.Fatal(err)
	}
	for _, d := range deployed {
		if strings.HasPrefix(d.Name, "temporal_") {
			continue
		}
		if m := all[d.Name]; m.Kind != d.Kind || m.Labels != strings.Join(d.Labels, ", ") {
			t.Errorf("deploy/metrics.yaml has %+v, and the program %+v", d, m)
		}
		delete(all, d.Name)
	}
	delete(all, "massgen_build_info") // which no panel of the dashboard shows
	for name := range all {
		t.Errorf("deploy/metrics.yaml lacks %s", name)
	}
}

// labels returns a list of labels as code.
func labels(list string) string {
	if list == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(list, ", ", "`, `") + "`"
}
