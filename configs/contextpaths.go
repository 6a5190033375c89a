package configs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// ContextPath is a folder or file from elsewhere that agents see beside their own
// folders.
type ContextPath struct {
	// Path is relative to the current folder unless it is absolute.
	Path string
	// Write reports whether the final answer may change what is there, but for Protected, which
	// are paths below it, relative or absolute.
	Write     bool
	Protected []string
	// At is its FILE:LINE:COLUMN.
	At string
}

// String is the path as people see it.
func (p ContextPath) String() string {
	text := p.Path + " (read)"
	if p.Write {
		text = p.Path + " (write)"
	}
	if len(p.Protected) > 0 {
		text = strings.TrimSuffix(text, ")") + ", but for " + strings.Join(p.Protected, " ") + ")"
	}
	return text
}

func (p ContextPath) same(other ContextPath) bool {
	a, errA := filepath.Abs(p.Path)
	b, errB := filepath.Abs(other.Path)
	return errA == nil && errB == nil && a == b
}

// ContextPaths are those that an agent is shown, which is counted from 0: what all are,
// and its own. An agent without a folder of its own is shown none.
func (c *Config) ContextPaths(agent int) []ContextPath {
	t := c.Agents[agent].Tools
	if t.CWD == "" {
		return nil
	}
	return union(c.Orchestrator.ContextPaths, t.ContextPaths)
}

// union is the first paths, and of the others those that are not among them.
func union(first, others []ContextPath) []ContextPath {
	all := slices.Clone(first)
	for _, p := range others {
		if !slices.ContainsFunc(all, p.same) {
			all = append(all, p)
		}
	}
	return all
}

// The permissions of a context path.
const (
	accessRead  = "read"
	accessWrite = "write"
)

func contextPathSection() section[ContextPath] {
	return section[ContextPath]{keys: []key[ContextPath]{
		{"path", pathOf("a folder or file", func(p *ContextPath) *string { return &p.Path })},
		{"permission", by(func(r *reader, at string, n *yaml.Node, p *ContextPath) {
			access := accessRead
			enum(func(a *string) *string { return a }, accessRead, accessWrite).read(r, at, n, &access)
			p.Write = access == accessWrite
		}).of(func() shape { return shape{"enum": []string{accessRead, accessWrite}} })},
		{"protected_paths", listOf(pathBelow(), func(p *ContextPath) *[]string { return &p.Protected })},
	}}
}

func pathBelow() parser[string] {
	return parser[string]{"the path of a file or folder below the context path", func(s scalar) (string, bool) {
		return s.text, s.is("!!str") && s.text != "" && !strings.ContainsFunc(s.text, isControl)
	}}
}

func contextPathsOf[T any](field func(*T) *[]ContextPath) item[T] {
	return item[T]{
		read:  func(r *reader, at string, n *yaml.Node, t *T) { *field(t) = r.contextPaths(at, n) },
		show:  func(t *T) string { return joined(*field(t), "\n") },
		shape: func() shape { return listShape(shapeOf(contextPathSection())) },
	}
}

func (r *reader) contextPaths(at string, n *yaml.Node) []ContextPath {
	var list []ContextPath
	for i, item := range r.doc.list(at, n, "a list of paths, each as in {path: ../site, permission: read}") {
		path := fmt.Sprintf("%s[%d]", at, i)
		p := ContextPath{At: r.doc.issue(item, "").place()}
		ok := readSection(r, path, item, contextPathSection(), &p)
		switch {
		case !ok:
		case p.Path == "":
			r.doc.fail(item, "%s has no path; add one", path)
		case slices.ContainsFunc(list, p.same):
			r.doc.fail(item, "%s is a path that is there already; keep one", path)
		case len(p.Protected) > 0 && !p.Write:
			r.doc.warn(r.doc.places[path+".protected_paths"],
				"%s.protected_paths has no effect without permission: write, since nothing there can be changed", path)
		}
		list = append(list, p)
	}
	return list
}

// checkContextPaths looks at what agents' folders and the paths that they are shown say
// together.
func (k *checker) checkContextPaths() {
	c := k.config
	const common = "orchestrator.context_paths"
	var without []string
	all := c.Orchestrator.ContextPaths
	for i, a := range c.Agents {
		own := k.agentPaths[i] + ".backend.context_paths"
		if a.Tools.CWD == "" {
			without = append(without, a.ID)
		}
		if a.Tools.CWD == "" && len(a.Tools.ContextPaths) > 0 {
			k.fail(k.places[own], "%s needs a cwd beside it: the agent's own folder, in which it sees the paths", own)
		}
		for j, p := range a.Tools.ContextPaths {
			if slices.ContainsFunc(c.Orchestrator.ContextPaths, p.same) {
				at := fmt.Sprintf("%s[%d]", own, j)
				k.warn(k.places[at+".path"], "%s is in %s too, and what is said there holds", at, common)
			}
		}
		all = union(all, a.Tools.ContextPaths)
	}
	for _, p := range all {
		k.checkOverlap(p)
	}
	for i, a := range c.Agents {
		if dir := c.Orchestrator.AgentTemporaryWorkspace; isWithin(dir, a.Tools.CWD) {
			k.fail(k.places["orchestrator.agent_temporary_workspace"],
				"orchestrator.agent_temporary_workspace is in the cwd of %s (agent %d), who could change it; name a folder elsewhere", a.ID, i+1)
		}
	}
	switch at := k.places[common]; {
	case len(c.Orchestrator.ContextPaths) == 0 || len(without) == 0:
	case len(without) == len(c.Agents):
		k.fail(at, "%s is shown to agents that have a cwd, and none has one; give a cwd to those that need the paths", common)
	default:
		k.warn(at, "%s is shown to agents that have a cwd, and not to %s", common, strings.Join(without, ", "))
	}
}

// checkOverlap refuses a path in an agent's own folder, and tells of one that has the
// folder in it.
func (k *checker) checkOverlap(p ContextPath) {
	c := k.config
	for i, a := range c.Agents {
		cwd, at := a.Tools.CWD, k.agentPaths[i]+".backend.cwd"
		switch {
		case isWithin(p.Path, cwd):
			k.fail(k.places[at], "%s has the context path %s in it, where the agent may change everything; name a folder elsewhere", at, quoted(p.Path))
		case isWithin(cwd, p.Path) && len(c.Agents) > 1:
			k.warn(k.places[at],
				"%s is in the context path %s, where other agents see its work before there is an answer; name a folder elsewhere", at, quoted(p.Path))
		}
	}
}

// isWithin reports whether a path is a folder's own or in it, by their names. An empty name is
// in nothing, and has nothing in it.
func isWithin(path, folder string) bool {
	if path == "" || folder == "" {
		return false
	}
	path, errPath := filepath.Abs(path)
	folder, errFolder := filepath.Abs(folder)
	if errPath != nil || errFolder != nil {
		return false // who opens them says what is wrong
	}
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

// finalStep is what only a winner that presents can do, and what is said of it.
type finalStep struct {
	place *yaml.Node
	// asked is what the config says, done what the winner does then, and lost what
	// becomes of it if the winning answer is reused.
	asked, done, lost string
}

// checkFinalStep has the winner present where nobody else would do what the config asks
// for. An agent alone has no other step.
func (k *checker) checkFinalStep() {
	c := k.config
	planning := cmp.Or(k.places["orchestrator.planning_mode"], k.places["orchestrator.coordination.enable_planning_mode"])
	var steps []finalStep
	if c.Orchestrator.PlanningMode {
		steps = append(steps, finalStep{
			planning, "orchestrator.planning_mode is on", "the winner carries out what was planned",
			"what was planned would never be done; use winner_present",
		})
	}
	if at := k.firstWritten(); at != "" {
		steps = append(steps, finalStep{
			k.places[at+".permission"], at + " can be written to", "the winner writes there",
			"nobody would ever write there; use winner_present, or permission: read",
		})
	}
	place := k.places["orchestrator.final_answer_strategy"]
	switch o := &c.Orchestrator; {
	case len(c.Agents) == 1 && o.PlanningMode:
		k.warn(planning, "orchestrator.planning_mode has no effect with one agent: its text is the final answer")
	case len(c.Agents) == 1 || len(steps) == 0:
	case place == nil:
		o.Rules.Final = kernel.WinnerPresent
		if k.massgen { // its winner always presents
			return
		}
		k.warn(steps[0].place, "%s, so final_answer_strategy is winner_present: %s", steps[0].asked, steps[0].done)
	case o.Rules.Final == kernel.WinnerReuse:
		k.fail(place, "orchestrator.final_answer_strategy is winner_reuse and %s: %s", strings.TrimPrefix(steps[0].asked, "orchestrator."), steps[0].lost)
	}
}

// firstWritten is where the first context path stands that can be written to, empty if
// there is none.
func (k *checker) firstWritten() string {
	c := k.config
	written := func(p ContextPath) bool { return p.Write }
	common := c.Orchestrator.ContextPaths
	if i := slices.IndexFunc(common, written); i >= 0 {
		return fmt.Sprintf("orchestrator.context_paths[%d]", i)
	}
	for i, a := range c.Agents {
		own := func(p ContextPath) bool { return written(p) && !slices.ContainsFunc(common, p.same) }
		if j := slices.IndexFunc(a.Tools.ContextPaths, own); j >= 0 {
			return fmt.Sprintf("%s.backend.context_paths[%d]", k.agentPaths[i], j)
		}
	}
	return ""
}
