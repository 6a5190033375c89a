package pytools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/mcp"
	"github.com/massgen/massgen/internal/tools/workspace"
)

//go:embed helper.py
var source []byte

// startLimit is for a helper to load its files, which may import large packages.
const startLimit = 2 * time.Minute

// Options describe the helper of one agent.
type Options struct {
	Python Python
	// Name is the helper's name in warnings and logs.
	Name string
	// Agent is the agent, and Folder its folder, absolute; empty for an agent without one.
	Agent  configs.Agent
	Folder string
	// Tools are the functions. Those with the network need a helper of their own.
	Tools []configs.CustomTool
	// Reads are trees and files that the functions may read beside the folders of their files, and Hidden
	// paths that they may not read there.
	Reads, Hidden []string
	// CallTimeout is how long one call may take.
	CallTimeout time.Duration
	// MCP has the logs, the warnings and the guard of the client.
	MCP mcp.Options
}

// Helper is a running helper. It is safe for concurrent use.
type Helper struct {
	*mcp.Client
	folder string // for its own file and for temporary files
}

// Start starts a helper, which loads the files. A function that does not load costs a warning.
func Start(ctx context.Context, o Options) (*Helper, error) {
	folder, err := os.MkdirTemp("", "massgen-python-*")
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for custom tools: %w", err)
	}
	h := &Helper{folder: folder}
	server, err := o.server(folder)
	if err == nil {
		h.Client, err = mcp.Start(ctx, server, o.MCP)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Close ends the helper and removes its temporary files.
func (h *Helper) Close() error {
	var err error
	if h.Client != nil {
		err = h.Client.Close()
	}
	if removed := os.RemoveAll(h.folder); removed != nil {
		err = errors.Join(err, fmt.Errorf("remove the temporary files of custom tools: %w", removed))
	}
	return err
}

// server returns the helper as an MCP server. folder is for its own file, and for temporary files.
func (o Options) server(folder string) (mcp.Server, error) {
	file, temp := filepath.Join(folder, "massgen_custom_tools.py"), filepath.Join(folder, "tmp")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return mcp.Server{}, fmt.Errorf("write the helper for custom tools: %w", err)
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		return mcp.Server{}, fmt.Errorf("make a folder for custom tools: %w", err)
	}
	settings, err := o.settings()
	if err != nil {
		return mcp.Server{}, err
	}
	said := filepath.Join(folder, "settings.json")
	if err := os.WriteFile(said, settings, 0o600); err != nil {
		return mcp.Server{}, fmt.Errorf("write the settings of custom tools: %w", err)
	}
	network := slices.ContainsFunc(o.Tools, func(t configs.CustomTool) bool { return t.Network })
	s := mcp.Server{
		Name: o.Name, Prefix: configs.CustomToolPrefix, Warns: true, StartTimeout: startLimit, CallTimeout: o.CallTimeout, Confined: !network,
		Env: map[string]string{},
	}
	argv := []string{o.Python.Program, "-I", "-B", "-X", "utf8", file, said}
	var pass []string
	for _, t := range o.Tools {
		for name, value := range t.Env {
			s.Env[name] = value
			if !slices.Contains(pass, name) {
				pass = append(pass, name)
			}
		}
	}
	dir := o.Folder
	if dir == "" {
		dir = temp
	}
	if ok, _ := workspace.CanFence(); !ok {
		// A person is asked about each call.
		s.Command, s.Args, s.Dir, s.Confined = argv[0], argv[1:], dir, false
		return s, nil
	}
	reads, lists, err := o.trees()
	if err != nil {
		return mcp.Server{}, err
	}
	slices.Sort(pass)
	command, err := workspace.Fenced{
		Argv: argv, Dir: dir, Temp: temp, Pass: pass, Network: network,
		Reads: append(reads, file, said), Lists: lists,
	}.Command(filepath.Join(folder, "fenced.json"))
	if err != nil {
		return mcp.Server{}, err
	}
	s.Command, s.Args = command[0], command[1:]
	return s, nil
}

// setting is a tool in the helper's settings.
type setting struct {
	Name     string         `json:"name"`
	Path     string         `json:"path,omitempty"`
	Shown    string         `json:"shown,omitempty"` // the path in the config
	Own      bool           `json:"own,omitempty"`   // the file is one of MassGen's package
	Function string         `json:"function"`
	About    string         `json:"description,omitempty"`
	Presets  map[string]any `json:"presets,omitempty"`
	Defaults map[string]any `json:"defaults,omitempty"`
}

// settings returns the helper's settings as JSON. The values of the context are those that MassGen's
// context_params may name and that are known when the helper starts.
func (o Options) settings() ([]byte, error) {
	tools := make([]setting, len(o.Tools))
	for i, t := range o.Tools {
		s := setting{
			Name: strings.TrimPrefix(t.Name, configs.CustomToolPrefix), Path: t.Path, Shown: t.Path, Function: t.Function, About: t.Description,
			Presets: t.Presets, Defaults: t.Defaults,
		}
		if t.IsFile() {
			file, err := realFile(t.Path)
			s.Own = t.IsMassGens() && err != nil
			if !s.Own {
				s.Path = file
			}
		}
		tools[i] = s
	}
	b := o.Agent.Backend
	context := map[string]any{
		"agent_id": o.Agent.ID, "agent_system_message": o.Agent.SystemMessage, "agent_cwd": nil, "backend_name": b.Type,
		"backend_type": b.Type, "model": b.Model, "messages": []any{},
	}
	if o.Folder != "" {
		context["agent_cwd"] = o.Folder
	}
	data, err := json.Marshal(map[string]any{"tools": tools, "context": context})
	if err != nil {
		return nil, fmt.Errorf("write the settings of custom tools: %w", err)
	}
	return data, nil
}

// realFile returns the absolute path of a file, without symbolic links. If there is no such file, it returns the
// absolute path and an error.
func realFile(path string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return at, err
	}
	return real, nil
}

// trees returns what the functions may read: Python's own trees, the options' without what is hidden, and the
// folders of the files. Of such a folder they may not read what begins with a dot, such as .env, a link to
// elsewhere, or a path that has hidden files in it. In the folders of lists they may list names.
func (o Options) trees() (reads, lists []string, err error) {
	folders := map[string]bool{}
	for _, t := range o.Tools {
		if !t.IsFile() {
			continue
		}
		if file, err := realFile(t.Path); err == nil {
			folders[filepath.Dir(file)] = true
		}
	}
	reads = slices.Clone(o.Python.Trees)
	for _, tree := range o.Reads {
		around := workspace.Around(tree, o.Hidden)
		if reads = append(reads, around...); !slices.Contains(around, tree) {
			lists = append(lists, tree)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, nil, fmt.Errorf("look into the folder of a custom tool: %w", err)
		}
		lists = append(lists, folder)
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if real, err := filepath.EvalSymlinks(path); err == nil && !isDotted(e.Name()) && within(real, folder) &&
				!isDotted(strings.TrimPrefix(real, folder)) && !o.hides(real) {
				reads = append(reads, path)
			}
		}
	}
	return reads, lists, nil
}

// isDotted reports whether a part of a path begins with a dot.
func isDotted(path string) bool {
	return strings.HasPrefix(path, ".") || strings.Contains(path, string(filepath.Separator)+".")
}

// hides reports whether a path is hidden, or has a hidden path in it.
func (o Options) hides(path string) bool {
	return slices.ContainsFunc(o.Hidden, func(hidden string) bool { return within(hidden, path) || within(path, hidden) })
}
