package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	compose "github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	strict "sigs.k8s.io/yaml"
)

const folder = "../../deploy"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// process is how a file starts a worker or a server.
type process struct {
	file  string
	args  []string
	image string
	grace time.Duration // between SIGTERM and SIGKILL
}

// project loads compose.yaml as Compose does: unknown keys and variables without a value are faults.
func project(t *testing.T) *compose.Project {
	t.Helper()
	env := map[string]string{}
	for line := range strings.Lines(string(read(t, "example.env"))) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			env[name] = value
			if !strings.HasSuffix(name, "_API_KEY") {
				env[name] = "set"
			}
		}
	}
	p, err := loader.LoadWithContext(context.Background(), compose.ConfigDetails{
		WorkingDir: folder, Environment: env, ConfigFiles: []compose.ConfigFile{{Filename: "compose.yaml", Content: read(t, "compose.yaml")}},
	}, func(o *loader.Options) { o.SkipResolveEnvironment = false })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func composed(t *testing.T) (all []process) {
	t.Helper()
	p := project(t)
	for _, name := range []string{"worker", "serve"} {
		s, err := p.GetService(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, process{"compose.yaml", s.Command, s.Image, time.Duration(*s.StopGracePeriod)})
	}
	return all
}

// TestCompose finds each file that compose.yaml mounts, and pins each image.
func TestCompose(t *testing.T) {
	t.Parallel()
	p := project(t)
	if workers, err := p.GetService("worker"); err != nil || workers.Deploy.Replicas == nil || *workers.Deploy.Replicas != 2 {
		t.Errorf("there are not two workers: %v", err)
	}
	tag := regexp.MustCompile(`:v?\d+\.\d+(\.\d+)?$`)
	mounted := 0
	exists := func(name string) {
		mounted++
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	for name, s := range p.Services {
		if own := s.Image == "massgen-temporal:set"; !own && !tag.MatchString(s.Image) {
			t.Errorf("%s: the image %q has no version", name, s.Image)
		} else if own && (!s.ReadOnly || s.User != "65532:65532") {
			t.Errorf("%s: its root can be written to, or it runs as %q", name, s.User)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s listens on %q", name, port.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == compose.VolumeTypeBind {
				exists(v.Source)
			}
		}
	}
	for _, c := range p.Configs {
		exists(c.File)
	}
	if mounted < 6 {
		t.Errorf("only %d files are mounted", mounted)
	}
}

// objects decodes all manifests of Kubernetes. A field that a type lacks is a fault.
func objects(t *testing.T) (all []any) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "kubernetes", "*.yaml"))
	if err != nil || len(names) < 3 {
		t.Fatal(err, names)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var kind struct{ APIVersion, Kind string }
			if err := strict.Unmarshal(part, &kind); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var into any
			switch kind.APIVersion + " " + kind.Kind {
			case "v1 Namespace":
				into = &core.Namespace{}
			case "v1 ConfigMap":
				into = &core.ConfigMap{}
			case "v1 ServiceAccount":
				into = &core.ServiceAccount{}
			case "v1 Service":
				into = &core.Service{}
			case "apps/v1 Deployment":
				into = &apps.Deployment{}
			case "batch/v1 Job":
				into = &batch.Job{}
			case "policy/v1 PodDisruptionBudget":
				into = &policy.PodDisruptionBudget{}
			default:
				t.Fatalf("%s: the test does not know %+v", name, kind)
			}
			if err := strict.UnmarshalStrict(part, into); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			all = append(all, into)
		}
	}
	return all
}

// checkPod checks what a pod requests, and what it may do.
func checkPod(t *testing.T, name string, pod core.PodSpec) {
	t.Helper()
	c := pod.Containers[0]
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s requests no processor or memory", name)
	}
	if s := c.SecurityContext; s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !*pod.SecurityContext.RunAsNonRoot || len(s.Capabilities.Drop) != 1 {
		t.Errorf("%s may do more than it needs", name)
	}
	for _, m := range c.VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) {
			t.Errorf("%s mounts %s, which is no volume", name, m.Name)
		}
	}
}

// TestMigrateComesBeforeWorkers in compose.yaml and among the manifests of Kubernetes, with the image of the workers.
func TestMigrateComesBeforeWorkers(t *testing.T) {
	t.Parallel()
	p := project(t)
	migrate, err := p.GetService("migrate")
	if err != nil || !slices.Equal(migrate.Command, []string{"migrate"}) {
		t.Fatalf("compose.yaml has no migrate: %v, %v", migrate.Command, err)
	}
	for _, name := range []string{"worker", "serve"} {
		s, err := p.GetService(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.DependsOn["migrate"].Condition != compose.ServiceConditionCompletedSuccessfully || s.Image != migrate.Image {
			t.Errorf("compose.yaml starts %s before migrate has ended, or it has another image", name)
		}
	}
	var job *batch.Job
	for _, o := range objects(t) {
		switch o := o.(type) {
		case *batch.Job:
			job = o
			checkPod(t, o.Name, o.Spec.Template.Spec)
		case *apps.Deployment:
			if job == nil {
				t.Fatalf("%s comes before the job", o.Name)
			}
			if c := job.Spec.Template.Spec.Containers[0]; !slices.Equal(c.Args, []string{"migrate"}) || c.Image != o.Spec.Template.Spec.Containers[0].Image {
				t.Errorf("the job runs %s of %s, and %s has another image", c.Args, c.Image, o.Name)
			}
		}
	}
}

// deployed checks each Deployment and returns what its pods run.
func deployed(t *testing.T) (all []process) {
	t.Helper()
	pods := map[string]map[string]string{}
	for _, o := range objects(t) {
		d, ok := o.(*apps.Deployment)
		if !ok {
			continue
		}
		pod := d.Spec.Template.Spec
		c := pod.Containers[0]
		pods[d.Name] = d.Spec.Template.Labels
		for key, value := range d.Spec.Selector.MatchLabels {
			if d.Spec.Template.Labels[key] != value {
				t.Errorf("%s selects other pods than it makes", d.Name)
			}
		}
		ports := map[string]bool{}
		for _, p := range c.Ports {
			ports[p.Name] = true
		}
		for _, probe := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if probe == nil || !ports[probe.HTTPGet.Port.StrVal] {
				t.Errorf("%s lacks a probe, or a probe's port", d.Name)
			}
		}
		checkPod(t, d.Name, pod)
		grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
		if c.Lifecycle != nil { // the pause is taken from it
			grace -= time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
		}
		all = append(all, process{"kubernetes", c.Args, c.Image, grace})
	}
	for _, o := range objects(t) {
		var name string
		var selects map[string]string
		switch o := o.(type) {
		case *core.Service:
			name, selects = o.Name, o.Spec.Selector
		case *policy.PodDisruptionBudget:
			name, selects = o.Name, o.Spec.Selector.MatchLabels
		default:
			continue
		}
		for key, value := range selects {
			if pods[name][key] != value {
				t.Errorf("%T %s selects no pod: %s is %q", o, name, key, value)
			}
		}
	}
	return all
}

var unitLine = regexp.MustCompile(`(?m)^(ExecStart|TimeoutStopSec)=(.*)$`)

func united(t *testing.T) (all []process) {
	t.Helper()
	for _, name := range []string{"worker", "serve"} {
		p := process{file: "systemd"}
		for _, m := range unitLine.FindAllStringSubmatch(string(read(t, "systemd/massgen-"+name+".service")), -1) {
			if m[1] == "ExecStart" {
				p.args = strings.Fields(m[2])[1:]
				continue
			}
			var err error
			if p.grace, err = time.ParseDuration(strings.Replace(m[2], "min", "m", 1)); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, p)
	}
	return all
}

// TestDrainFits gives each process a minute after its drain before it is killed, and a worker ten for the drain.
func TestDrainFits(t *testing.T) {
	t.Parallel()
	processes := slices.Concat(composed(t), deployed(t), united(t))
	if len(processes) != 6 {
		t.Fatalf("there are %d processes, not a worker and a server in each of three ways", len(processes))
	}
	for _, p := range processes {
		drain, ok := flags(p.args)["--drain"]
		if !ok {
			t.Errorf("%s: %s has no --drain", p.file, p.args[0])
			continue
		}
		d, err := time.ParseDuration(drain)
		if err != nil {
			t.Fatal(err)
		}
		if p.grace != d+time.Minute {
			t.Errorf("%s: %s is killed %v after SIGTERM, and drains for %v", p.file, p.args[0], p.grace, d)
		}
	}
}

// flags returns the flags of a command line, with their values.
func flags(args []string) map[string]string {
	all := map[string]string{}
	for i, a := range args {
		if !strings.HasPrefix(a, "--") {
			continue
		}
		name, value, ok := strings.Cut(a, "=")
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		all[name] = value
	}
	return all
}

// metric is an entry of metrics.yaml.
type metric struct {
	Name, Kind, About string
	Labels, By        []string
}

func metrics(t *testing.T) (all []metric) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(read(t, "metrics.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(&all); !errors.Is(err, io.EOF) {
		t.Fatal("metrics.yaml has more than one document")
	}
	return all
}

var (
	nameInExpression  = regexp.MustCompile(`\b(?:massgen|temporal|process|go)_[a-z_]+\b`)
	labelsOf          = regexp.MustCompile(`\b((?:massgen|temporal|process|go)_[a-z_]+)\{([^}]*)\}`)
	labelInExpression = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
	groupInExpression = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// TestExpressionsNameMetrics holds the dashboard and the alerts to the metrics of metrics.yaml, and their labels.
func TestExpressionsNameMetrics(t *testing.T) {
	t.Parallel()
	known := map[string]metric{}
	for _, m := range metrics(t) {
		known[m.Name] = m
		if m.Kind == "histogram" {
			m.Labels = append(slices.Clone(m.Labels), "le")
			known[m.Name+"_bucket"] = m
		}
	}
	used := map[string]bool{}
	for _, e := range append(dashboardExpressions(t), alertExpressions(t)...) {
		labels := []string{"job", "instance"}
		for _, name := range nameInExpression.FindAllString(e, -1) {
			m, ok := known[name]
			if !ok {
				t.Errorf("metrics.yaml has no %s, which stands in %s", name, e)
			}
			used[m.Name] = true
			labels = append(labels, m.Labels...)
		}
		for _, m := range labelsOf.FindAllStringSubmatch(e, -1) {
			for _, l := range labelInExpression.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(append(known[m[1]].Labels, "job", "instance"), l[1]) {
					t.Errorf("%s has no label %s, which stands in %s", m[1], l[1], e)
				}
			}
		}
		for _, m := range groupInExpression.FindAllStringSubmatch(e, -1) {
			for l := range strings.SplitSeq(m[1], ", ") {
				if !slices.Contains(labels, l) {
					t.Errorf("nothing has the label %s, which stands in %s", l, e)
				}
			}
		}
	}
	for _, m := range metrics(t) {
		if !used[m.Name] {
			t.Errorf("no alert and no panel of the dashboard shows %s", m.Name)
		}
	}
}

func dashboardExpressions(t *testing.T) (all []string) {
	t.Helper()
	var d struct {
		UID    string `json:"uid"`
		Panels []struct {
			ID                       int
			Type, Title, Description string
			GridPos                  struct{ X, Y, W, H int } `json:"gridPos"`
			Targets                  []struct {
				RefID string `json:"refId"`
				Expr  string
			}
		}
	}
	if err := json.Unmarshal(read(t, "grafana/dashboards/massgen.json"), &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("the panel %q has the id of another, or is too far right", p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("the panel %q shows nothing, or does not say what", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	if d.UID != "massgen" || len(all) < 20 {
		t.Errorf("the dashboard %s has %d expressions", d.UID, len(all))
	}
	return all
}

var section = regexp.MustCompile(`(?m)^### (Massgen\w+)$`)

// TestEachAlertHasASection in docs/operating.md, to which its annotation runbook_url leads.
func TestEachAlertHasASection(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range section.FindAllStringSubmatch(string(page), -1) {
		sections[m[1]] = true
	}
	for _, a := range alerts(t) {
		if !sections[a.Alert] {
			t.Errorf("docs/operating.md has no section ### %s", a.Alert)
		}
		delete(sections, a.Alert)
		if url := a.Annotations["runbook_url"]; !strings.HasSuffix(url, "/docs/operating.md#"+strings.ToLower(a.Alert)) {
			t.Errorf("the runbook_url of %s leads to %s", a.Alert, url)
		}
	}
	for name := range sections {
		t.Errorf("docs/operating.md has a section %s, and alerts.yml no such alert", name)
	}
}

// alert is a rule of alerts.yml.
type alert struct {
	Alert, Expr string
	Annotations map[string]string
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	var rules struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal(read(t, "prometheus/alerts.yml"), &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("alerts.yml has no alert")
	}
	return all
}

// alertExpressions checks that each alert has a test of its firing and one of its silence.
func alertExpressions(t *testing.T) (all []string) {
	t.Helper()
	tests := string(read(t, "prometheus/alerts_test.yml"))
	for _, r := range alerts(t) {
		all = append(all, r.Expr)
		if !strings.Contains(tests, "name: "+r.Alert+" fires\n") || !strings.Contains(tests, "name: "+r.Alert+" is silent\n") {
			t.Errorf("the alert %s has no tests", r.Alert)
		}
		if r.Annotations["summary"] == "" {
			t.Errorf("the alert %s has no summary", r.Alert)
		}
	}
	return all
}
