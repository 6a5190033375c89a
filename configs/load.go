package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/system/charset"
)

// Options are what reading a configuration needs from its surroundings.
type Options struct {
	// Lookup finds the value of a variable for ${NAME}. Nil is os.LookupEnv; see
	// WithDotEnv.
	Lookup func(name string) (value string, set bool)
	// BackendTypes are the allowed values of a backend's type. Empty allows any.
	BackendTypes []string
	// Secrets is where the secrets of the configuration are added: API keys,
	// passwords in addresses, the values of variables, headers and settings of an
	// extra_body with a name like KEY or TOKEN, and those of headers that look like
	// keys. They are added also when there is an error. Nil is a set of its own.
	Secrets *Secrets
	// HasSchema reports whether the turns' answers have to fit a schema, whose values are then
	// compared.
	HasSchema bool
}

// Load reads a configuration. Name is a path, @examples/NAME for a shipped file,
// or the bare name of a shipped file (three_agents.yaml, also
// configs/three_agents.yaml) where no such file exists. A file of more than 1 MiB is
// refused. Errors are as Parse's.
func Load(name string, opts Options) (*Config, error) {
	file, data, err := find(name)
	if err != nil {
		return nil, err
	}
	return Parse(file, data, opts)
}

func find(name string) (file string, data []byte, err error) {
	if example, ok := strings.CutPrefix(name, examplePrefix); ok {
		if data, ok := ReadExample(example); ok {
			return name, data, nil
		}
		return "", nil, fmt.Errorf("%s: no such example; there are %s", oneLine(name), strings.Join(exampleNames(), ", "))
	}
	if name == "" {
		return "", nil, errors.New("no config file is named; " + pathHint())
	}
	data, err = readAtMost(name, mostBytes)
	if err == nil {
		return name, data, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("cannot read the config: %w", err)
	}
	dir, base := filepath.Split(filepath.Clean(name))
	if dir == "" || filepath.Clean(dir) == "configs" {
		if data, ok := ReadExample(base); ok {
			return examplePrefix + strings.TrimSuffix(base, ".yaml"), data, nil
		}
	}
	hint := pathHint()
	if near, ok := Nearest(strings.TrimSuffix(base, ".yaml"), exampleNames()); ok {
		hint = fmt.Sprintf("did you mean %s%s?", examplePrefix, near)
	}
	return "", nil, fmt.Errorf("%s: no such config file; %s", oneLine(name), hint)
}

// mostBytes is the size of the largest file that is read: 1 MiB.
const mostBytes = 1 << 20

// readAtMost reads a file, which may be one without an end.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := openAtOnce(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes (%d MiB), the most that is read", oneLine(path), most, most>>20)
	}
	return data, nil
}

func pathHint() string {
	return "give the path of a YAML file or a shipped one: " + strings.Join(exampleNames(), ", ")
}

// Parse reads a configuration from data; file is what messages call it. Its
// error has one line for each thing wrong (the first 20), with the place and the cure; each is
// an Issue that errors.As finds. Its method Warnings() []Issue returns the warnings about the
// same file.
func Parse(file string, data []byte, opts Options) (*Config, error) {
	if file == "" {
		file = "config"
	}
	if opts.Lookup == nil {
		opts.Lookup = os.LookupEnv
	}
	config := Default()
	config.File, config.Text = file, string(data)
	if opts.Secrets != nil {
		config.secrets = opts.Secrets
	}
	config.layers.opts, config.layers.hasSchema = opts, opts.HasSchema
	d := &document{file: file, places: map[string]*yaml.Node{}}
	if root := d.root(data); root != nil {
		r := &reader{doc: d, opts: opts, secrets: config.secrets, contexts: map[string]*yaml.Node{}, topics: topics{of: map[topic]*mention{}}}
		readSection(r, "", root, topSection(), config)
		r.agentContexts(config)
		r.topics.warn(d)
		unread, warnings := len(d.issues) > 0, d.warnings
		k := &checker{document: d, config: config, agentPaths: r.agentPaths}
		k.check(root)
		if unread {
			d.warnings = warnings
		}
	}
	if len(d.issues) > 0 {
		return nil, d.refusal()
	}
	sortIssues(d.warnings)
	config.Warnings, config.Remarks, config.MassGen = d.warnings, d.remarks, d.massgen
	config.places = map[string]Issue{}
	for path, n := range d.places {
		config.places[path] = d.issue(n, "")
	}
	return config, nil
}

func (d *document) refusal() error {
	sortIssues(d.issues)
	sortIssues(d.warnings)
	return &refusal{d.issues, d.warnings}
}

// root returns the root of the only document in data, or nil after an
// issue.
func (d *document) root(data []byte) *yaml.Node {
	text, err := charset.Strict(data)
	if err != nil {
		d.issues = append(d.issues, Issue{File: d.file, Message: err.Error()})
		return nil
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.issues = append(d.issues, Issue{File: d.file, Message: "the file is empty; " + startHint})
		return nil
	case err != nil:
		d.issues = append(d.issues, d.syntaxIssue(data, err))
		return nil
	}
	var more yaml.Node
	switch err := dec.Decode(&more); {
	case err == nil:
		d.fail(&more, "a second document begins here; keep one document in the file")
		return nil
	case !errors.Is(err, io.EOF):
		d.issues = append(d.issues, d.syntaxIssue(data, err))
		return nil
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		d.issues = append(d.issues, Issue{File: d.file, Message: "the file holds no settings; " + startHint})
		return nil
	}
	return doc.Content[0]
}

const startHint = "begin with agents: and a list, or see --list-examples"

// syntaxIssue takes the line out of yaml's own words, "yaml: line 3: …".
func (d *document) syntaxIssue(data []byte, err error) Issue {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasSuffix(message, "found character that cannot start any token") {
		message += "; indent with spaces, not tabs, and quote a text that begins with @ or `"
	}
	if strings.Contains(message, "did not find expected") {
		message += ", on this line or below"
	}
	issue := Issue{File: d.file, Message: "not valid YAML: " + message}
	if m := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(message); m != nil {
		line, convErr := strconv.Atoi(m[1])
		if convErr == nil {
			issue.Line, issue.Message = syntaxLine(data, line, m[2]), "not valid YAML: "+m[2]
		}
	}
	return issue
}

// syntaxLine is the line that yaml means. Where its parser misses something it
// counts from 0, and names the beginning of the list or mapping; where its
// scanner finds a tab, the line before.
func syntaxLine(data []byte, line int, message string) int {
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	switch {
	case strings.HasPrefix(message, "did not find expected"):
		return min(line+1, len(lines))
	case strings.HasPrefix(message, "found a tab character"):
		for i := line - 1; i < len(lines); i++ {
			text := bytes.TrimLeft(lines[i], " \t")
			if indent := lines[i][:len(lines[i])-len(text)]; len(text) > 0 && bytes.Contains(indent, []byte("\t")) {
				return i + 1
			}
		}
	}
	return line
}
