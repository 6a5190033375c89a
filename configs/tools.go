package configs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/system/secrets"
)

// Tools are an agent's tools, beside those for answering and voting.
type Tools struct {
	// CWD is the folder of the agent's workspace, relative to the current folder unless it
	// is absolute. Without a CWD the agent has no workspace.
	CWD string
	// ContextPaths are the agent's own; see Config.ContextPaths.
	ContextPaths []ContextPath
	// RunCommands reports whether the agent may run commands in its workspace. Allowed and
	// BlockedCommands are patterns of programs' names (git, python*); no allowed ones
	// means any.
	RunCommands     bool
	AllowedCommands []string
	BlockedCommands []string
	// Servers are the agent's own MCP servers. Their names differ from each other's and
	// from those of Config.Servers.
	Servers []MCPServer
	// AllowedTools are the names of the allowed tools, nil for all, and ExcludeTools those
	// to leave out. The AllowedTools of an MCP server replace these, and its ExcludeTools
	// add to these.
	AllowedTools []string
	ExcludeTools []string
	// NoFileTools leaves the agent run_command of the tools of its workspace.
	NoFileTools bool `json:",omitempty"`
	// Custom are functions in Python.
	Custom []CustomTool `json:",omitempty"`
	// Guards decide about the agent's calls beside Config.Permissions. The strictest decision holds.
	Guards []Guard `json:",omitempty"`
}

// Any reports whether the agent has tools.
func (t Tools) Any() bool { return t.CWD != "" || len(t.Servers) > 0 || len(t.Custom) > 0 }

// MCPServer says how to reach a server of the Model Context Protocol. It has either a
// Command or a URL.
type MCPServer struct {
	// Name has letters, digits, '_' and '-', 40 characters at most.
	Name string
	// Type is stdio or streamable-http. If it is empty, Command or URL decides.
	Type string
	// Required reports whether the run ends if the server does not start.
	Required bool `json:",omitempty"`
	// Command runs with Args and Env, and with a few variables of the program itself, in CWD or
	// the current folder.
	Command string
	Args    []string
	Env     map[string]string
	CWD     string
	// URL is the address of its streamable HTTP. Each request has Headers.
	URL          string
	Headers      map[string]string
	AllowedTools []string
	ExcludeTools []string
}

// The types of a server's transport.
const (
	transportStdio = "stdio"
	transportHTTP  = "streamable-http"
)

// transportType reads the type of a server's transport. Other programs have other words for a server with
// a URL; all mean transportHTTP, since the server itself decides which of its transports is spoken.
func transportType() item[MCPServer] {
	known := enum(func(s *MCPServer) *string { return &s.Type }, transportStdio, transportHTTP, "http", "sse", "streamableHttp", "streamable_http")
	read := known.read
	known.read = func(r *reader, at string, n *yaml.Node, s *MCPServer) {
		read(r, at, n, s)
		if s.Type != "" && s.Type != transportStdio {
			s.Type = transportHTTP
		}
	}
	return known
}

// Format writes the settings without secrets, whatever the verb.
func (s MCPServer) Format(f fmt.State, _ rune) {
	if s.URL != "" {
		tell(f, s.Name+" ("+MaskURL(s.URL)+")")
		return
	}
	tell(f, s.Name+" ("+s.Command+")")
}

// folder reads the path of a folder.
func folder[T any](field func(*T) *string) item[T] {
	return pathOf("a folder", field)
}

// pathOf reads a path; what names its target in a message.
func pathOf[T any](what string, field func(*T) *string) item[T] {
	read := func(r *reader, at string, n *yaml.Node, t *T) {
		path, ok := parseScalar(r, at, n, textParser())
		switch {
		case !ok:
		case path == "":
			r.doc.fail(n, "%s is empty; name %s, or leave the key out", at, what)
		case strings.HasPrefix(path, "~"):
			r.doc.fail(n, "%s begins with ~, which is a shell's word; write ${HOME} in its place", at)
		case strings.ContainsFunc(path, isControl):
			r.doc.fail(n, "%s has a control character; name %s", at, what)
		default:
			*field(t) = path
		}
	}
	return item[T]{read: read, show: func(t *T) string { return *field(t) }, shape: wordShape}
}

// texts reads a list of texts. A list that is present is not nil.
func (r *reader) texts(at string, n *yaml.Node, p parser[string]) []string {
	if isNull(n) {
		return nil
	}
	list := []string{}
	for i, item := range r.doc.list(at, n, "a list of texts") {
		path := fmt.Sprintf("%s[%d]", at, i)
		if isNull(item) {
			r.doc.fail(item, "%s is empty; it must be %s", path, p.wanted)
		} else if v, ok := parseScalar(r, path, item, p); ok {
			list = append(list, v)
		}
	}
	return list
}

// listOf reads a list of texts into a field.
func listOf[T any](p parser[string], field func(*T) *[]string) item[T] {
	return item[T]{
		read:  func(r *reader, at string, n *yaml.Node, t *T) { *field(t) = r.texts(at, n, p) },
		show:  func(t *T) string { return joined(*field(t), " ") },
		shape: textsShape,
	}
}

// allowedTools reads a list of tools. An empty list allows no tool.
func allowedTools[T any](field func(*T) *[]string) item[T] {
	list := listOf(toolName(), field)
	names := list.show
	list.show = func(t *T) string {
		if allowed := *field(t); allowed != nil && len(allowed) == 0 {
			return "none"
		}
		return names(t)
	}
	return list
}

func toolName() parser[string] {
	return parser[string]{"the name of a tool", func(s scalar) (string, bool) { return s.text, s.is("!!str") && s.text != "" }}
}

// servers reads MCP servers: a list of servers with names, or a mapping by name.
func (r *reader) servers(at string, n *yaml.Node) []MCPServer {
	n = deref(n)
	r.inServers = true
	defer func() { r.inServers = false }()
	var list []MCPServer
	read := func(path, name string, item *yaml.Node) {
		s := MCPServer{Name: name}
		r.security = nil
		if readSection(r, path, item, serverSection(), &s) {
			if r.security != nil {
				if err := r.security.check(s); err != nil {
					r.doc.fail(item, "%s is refused by its security: %v", path, err)
				}
			}
			r.doc.checkServer(path, item, s)
			if same := func(other MCPServer) bool { return other.Name == s.Name }; slices.ContainsFunc(list, same) {
				r.doc.fail(item, "%s is a second server %s; give it another name", path, quoted(s.Name))
			}
		}
		r.doc.places[join(at, s.Name)] = item
		list = append(list, s)
	}
	if n.Kind == yaml.MappingNode {
		for _, e := range r.doc.entries(at, n) {
			read(join(at, e.key.Value), e.key.Value, e.value)
		}
		return list
	}
	for i, item := range r.doc.list(at, n, "a list of servers, each with a name, or a mapping of names to servers") {
		read(fmt.Sprintf("%s[%d]", at, i), "", item)
	}
	return list
}

const longestServer = 40

var serverName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_-]{1,%d}$`, longestServer))

// MassGenCure returns the cure for a server whose command or arguments name a module of MassGen's
// Python package, which this program lacks. It returns "" for other servers.
func (s MCPServer) MassGenCure() string {
	if !slices.ContainsFunc(append([]string{s.Command}, s.Args...), massgenModule.MatchString) {
		return ""
	}
	return "delete the server, and set cwd: in the agent's backend for tools on files"
}

// massgenModule matches massgen.tests.server, massgen.server:create and src/massgen/server.py.
var massgenModule = regexp.MustCompile(`(^|\s)massgen(\.\w+(\.\w+|:\w+))|(^|[\s/=])massgen/\S*\.py\b`)

// checkServer checks the settings of a server together.
func (d *document) checkServer(at string, n *yaml.Node, s MCPServer) {
	if cure := s.MassGenCure(); cure != "" {
		d.warn(n, "%s names a Python module of MassGen; %s", at, cure)
	}
	switch {
	case s.Name == "":
		d.fail(n, "%s has no name; add one", at)
	case !serverName.MatchString(s.Name):
		d.fail(n, "%s is called %s; use letters, digits, '_' and '-' only, %d at most", at, quoted(s.Name), longestServer)
	case s.Command == "" && s.URL == "":
		d.fail(n, "%s has neither a command nor a url; add one of them", at)
	case s.Command != "" && s.URL != "":
		d.fail(n, "%s has a command and a url; keep one of them", at)
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0 || s.CWD != ""):
		d.fail(n, "%s has a url, for which args, env and cwd mean nothing; leave them out", at)
	case s.Command != "" && len(s.Headers) > 0:
		d.fail(n, "%s has a command, for which headers mean nothing; leave them out", at)
	case s.Type == transportStdio && s.URL != "":
		d.fail(n, "%s has the type %s, which takes a command, and a url; write %s", at, s.Type, transportHTTP)
	case s.Type == transportHTTP && s.Command != "":
		d.fail(n, "%s has the type %s, which takes a url, and a command; write %s", at, s.Type, transportStdio)
	}
}

// serverCommand reads a program, or a list of a program and its first arguments.
func (r *reader) serverCommand(at string, n *yaml.Node, s *MCPServer) {
	if deref(n).Kind == yaml.SequenceNode {
		words := r.texts(at, n, textParser())
		if len(words) == 0 || words[0] == "" {
			r.doc.fail(n, "%s names no program; begin the list with one", at)
			return
		}
		s.Command, s.Args = words[0], append(words[1:], s.Args...)
		hideInAddress(r.secrets, words...)
		return
	}
	command, ok := parseScalar(r, at, n, textParser())
	if ok && strings.ContainsAny(command, " \t\n") && !strings.ContainsRune(command, filepath.Separator) {
		r.doc.fail(n, "%s has more than a program in it; put its arguments into args", at)
		return
	}
	s.Command = command
}

func (r *reader) serverArgs(at string, n *yaml.Node, s *MCPServer) {
	args := r.texts(at, n, textParser())
	hideInAddress(r.secrets, args...)
	s.Args = append(s.Args, args...)
}

// hideInAddress adds the secrets in addresses to the masked ones: servers of databases get an
// address with a password.
func hideInAddress(secrets *Secrets, words ...string) {
	for _, word := range words {
		if strings.Contains(word, "://") {
			secrets.AddURL(word)
		}
	}
}

func (r *reader) serverURL(at string, n *yaml.Node, s *MCPServer) {
	s.URL = r.address(at, n, "http://localhost:3001/mcp")
}

func (r *reader) serverHeaders(at string, n *yaml.Node, s *MCPServer) { r.headerMap(at, n, &s.Headers) }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *reader) serverEnv(at string, n *yaml.Node, s *MCPServer) {
	s.Env = map[string]string{}
	for _, e := range r.doc.entries(at, n) {
		name := e.key.Value
		if !variableName.MatchString(name) {
			r.doc.fail(e.key, "%s has %s, which is no variable's name; use letters, digits and '_'", at, quoted(name))
			continue
		}
		v, ok := r.secretLine(join(at, name), e.value)
		if !ok {
			continue
		}
		if secrets.IsName(name) {
			r.secrets.Add(v)
		}
		if secrets.NamesAKey(name) {
			r.warnShort(e.value, r.secrets.WarnShort(join(at, name), v))
		}
		hideInAddress(r.secrets, v)
		s.Env[name] = v
	}
}

// checkTools checks settings of an agent, or of several agents, together.
func (k *checker) checkTools() {
	c := k.config
	k.separateFolders()
	const memoryFiles = "orchestrator.coordination.enable_memory_filesystem_mode"
	if c.Orchestrator.MemoryFiles && !slices.ContainsFunc(c.Agents, func(a Agent) bool { return a.Tools.CWD != "" }) {
		k.warn(k.places[memoryFiles], "%s has no effect without an agent that has a cwd: the folder of its memories", memoryFiles)
	}
	for i, a := range c.Agents {
		at := k.agentPaths[i] + ".backend."
		t := a.Tools
		if t.RunCommands && t.CWD == "" {
			c.Agents[i].Tools.RunCommands = false
			k.warn(k.places[at+"enable_mcp_command_line"], "%senable_mcp_command_line has no effect without a cwd beside it: the folder that commands run in", at)
		}
		if (t.Any() || len(c.Servers) > 0) && a.Backend.ToolMode == "json" {
			k.fail(k.places[at+"tool_mode"], "%stool_mode json says that %s's model calls no tools, and it is given some (cwd, mcp_servers, custom_tools); leave one out", at, a.ID)
		}
		k.checkCustomTools(i, at)
		if !t.RunCommands {
			for _, key := range []string{"command_line_allowed_commands", "command_line_blocked_commands"} {
				if n := k.places[at+key]; n != nil {
					k.warn(n, "%s%s has no effect without enable_mcp_command_line: true", at, key)
				}
			}
		}
		for _, own := range t.Servers {
			if slices.ContainsFunc(c.Servers, func(s MCPServer) bool { return s.Name == own.Name }) {
				k.fail(k.places[at+"mcp_servers."+own.Name], "%smcp_servers has a server %s, and so has mcp_servers at the top level; rename one", at, quoted(own.Name))
			}
		}
		for j, other := range c.Agents[:i] {
			if isWithin(t.CWD, other.Tools.CWD) || isWithin(other.Tools.CWD, t.CWD) {
				k.fail(k.places[at+"cwd"], "%scwd is in the same place as %s's (agent %d): their edits would mix; give each a folder of its own", at, other.ID, j+1)
			}
		}
	}
}
