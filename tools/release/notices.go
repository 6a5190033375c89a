package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// notices writes the licenses of all modules that the programs are linked with, and that of Go, into one file: most
// of them ask that whoever passes a program on passes them on too.
func (r *release) notices(ctx context.Context) (string, error) {
	modules := map[string]string{} // folders by path and version
	for _, g := range programs() {
		for p := range strings.SplitSeq(systems, ",") {
			if err := r.modules(ctx, p, g, modules); err != nil {
				return "", err
			}
		}
	}
	root, err := output(exec.CommandContext(ctx, "go", "env", "GOROOT"))
	if err != nil {
		return "", err
	}
	modules["The Go standard library"] = root
	var b bytes.Buffer
	b.WriteString("massgen and massgen-temporal are linked with these modules, which have these licenses.\n")
	names := make([]string, 0, len(modules))
	for name := range modules {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "\n%s\n%s\n", strings.Repeat("=", 78), name)
		if err := appendLicenses(&b, modules[name]); err != nil {
			return "", err
		}
	}
	to := filepath.Join(r.work, "THIRD_PARTY_NOTICES.txt")
	return to, os.WriteFile(to, b.Bytes(), plainMode)
}

// modules adds the modules of others that one program is linked with on one system.
func (r *release) modules(ctx context.Context, system string, g program, to map[string]string) error {
	p, err := platforms(system)
	if err != nil {
		return err
	}
	const format = "{{with .Module}}{{if not (or .Main .Replace)}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"
	c := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, "./cmd/"+g.name)
	c.Dir, c.Env = filepath.Join(r.source, g.module), environ(p[0])
	text, err := output(c)
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(text, "\n") {
		if name, dir, ok := strings.Cut(line, "\t"); ok {
			to[name] = dir
		}
	}
	return nil
}

// appendLicenses appends the texts of a module's licenses and notices. A module without any is named all the same.
func appendLicenses(b *bytes.Buffer, dir string) error {
	if dir == "" {
		return errors.New("a module has no folder: run go mod download")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if !e.Type().IsRegular() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		fmt.Fprintf(b, "\n%s:\n\n%s", e.Name(), text)
		found = true
	}
	if !found {
		b.WriteString("\nThis module comes without the text of a license.\n")
	}
	return nil
}
