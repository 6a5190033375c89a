package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// program is one of the programs of a release.
type program struct {
	name   string
	module string // its folder in the checkout
}

func programs() []program {
	return []program{
		{"massgen", "."},
		{imageProgram, "temporal"},
	}
}

// file is one file of an archive, a package or an image, with its place in each; an empty place leaves it out.
type file struct {
	from    string // where it is now
	archive string
	system  string // in a Linux system, from the root on
	image   bool   // it is in the image, at its place in a system
	mode    os.FileMode
	config  bool   // a person may change it
	link    string // a link to this name in place of a file
}

// The modes of files and of programs.
const (
	plainMode   os.FileMode = 0o644
	programMode os.FileMode = 0o755
	secretMode  os.FileMode = 0o600
)

// variables is where the programs keep what -ldflags writes.
const variables = "github.com/massgen/massgen/cmd/massgen/app/cmdline"

// build builds the programs for one system.
func (r *release) build(ctx context.Context, p platform) (files []file, err error) {
	for _, g := range programs() {
		f, err := r.built(ctx, p, g)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// built returns one program for one system, and builds it if that was not done yet.
func (r *release) built(ctx context.Context, p platform, g program) (file, error) {
	f := file{from: filepath.Join(r.work, p.String(), g.name+p.ending()), archive: g.name + p.ending(), system: "/usr/bin/" + g.name, image: g.name == imageProgram, mode: programMode}
	if _, err := os.Stat(f.from); err == nil {
		return f, nil
	}
	flags := fmt.Sprintf("-s -w -X %[1]s.releaseVersion=%[2]s -X %[1]s.releaseCommit=%[3]s", variables, r.from.version, r.from.commit)
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", f.from, "./cmd/"+g.name)
	c.Dir, c.Env, c.Stdout, c.Stderr = filepath.Join(r.source, g.module), environ(p), os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return f, fmt.Errorf("go build %s for %s: %w", g.name, p, err)
	}
	return f, nil
}

// licenses returns the license of massgen, and those of all that it is linked with.
func (r *release) licenses(ctx context.Context) ([]file, error) {
	notices, err := r.notices(ctx)
	if err != nil {
		return nil, fmt.Errorf("licenses of the modules: %w", err)
	}
	return []file{
		{from: r.in("LICENSE"), archive: "LICENSE", system: docs + "copyright", image: true, mode: plainMode},
		{from: notices, archive: "THIRD_PARTY_NOTICES.txt", system: docs + "THIRD_PARTY_NOTICES.txt", image: true, mode: plainMode},
	}, nil
}

// deployment returns the files of deploy/, and the page that says how to use them.
func (r *release) deployment() ([]file, error) {
	const page = "docs/operating.md"
	files := []file{{from: r.in(page), archive: page, system: docs + "operating.md", mode: plainMode}}
	err := fs.WalkDir(os.DirFS(r.in("deploy")), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") { // .env has somebody's keys
			return err
		}
		name = "deploy/" + name
		files = append(files, file{from: r.in(name), archive: name, system: docs + name, mode: plainMode})
		return nil
	})
	return files, err
}

// documents returns the files beside the programs: texts, manual pages, completions, units and their settings. The
// programs of this machine print what they know of themselves.
func (r *release) documents(ctx context.Context) ([]file, error) {
	files, err := r.licenses(ctx)
	if err != nil {
		return nil, err
	}
	files = append(files, []file{
		{from: r.in("README.md"), archive: "README.md", system: docs + "README.md", mode: plainMode},
		{from: r.in("CHANGELOG.md"), archive: "CHANGELOG.md", system: docs + "CHANGELOG.md", mode: plainMode},
		{from: r.in("deploy/panel.yaml"), system: "/etc/massgen/panel.yaml", mode: plainMode, config: true},
		{from: r.in("deploy/systemd/massgen.env"), system: "/etc/massgen/massgen.env", mode: secretMode, config: true},
		{from: r.in("deploy/systemd/massgen-worker.service"), system: units + "massgen-worker.service", mode: plainMode},
		{from: r.in("deploy/systemd/massgen-serve.service"), system: units + "massgen-serve.service", mode: plainMode},
	}...)
	deployed, err := r.deployment()
	if err != nil {
		return nil, err
	}
	files = append(files, deployed...)
	here := platform{runtime.GOOS, runtime.GOARCH}
	for _, g := range programs() {
		run, err := r.built(ctx, here, g)
		if err != nil {
			return nil, err
		}
		page, err := r.printed(ctx, g.name+".1", run.from, "man")
		if err != nil {
			return nil, err
		}
		files = append(files, file{from: page, archive: "man/" + g.name + ".1", system: "/usr/share/man/man1/" + g.name + ".1", mode: plainMode})
		if g.name != "massgen" {
			continue
		}
		for _, s := range shells() {
			script, err := r.printed(ctx, s.archived(), run.from, "completion", s.name)
			if err != nil {
				return nil, err
			}
			files = append(files, file{from: script, archive: "completions/" + s.archived(), system: s.place + s.file, mode: plainMode})
			if s.other != "" {
				files = append(files, file{link: s.file, system: s.place + s.other})
			}
		}
	}
	return files, nil
}

// The places in a Linux system.
const (
	docs  = "/usr/share/doc/massgen/"
	units = "/usr/lib/systemd/system/"
)

// shell is one whose completions a release has. bash and fish look for a file of the program's name, so
// massgen-temporal has one, too.
type shell struct{ name, place, file, other string }

func (s shell) archived() string { return "massgen." + s.name }

func shells() []shell {
	return []shell{
		{"bash", "/usr/share/bash-completion/completions/", "massgen", "massgen-temporal"},
		{"zsh", "/usr/share/zsh/vendor-completions/", "_massgen", ""},
		{"fish", "/usr/share/fish/vendor_completions.d/", "massgen.fish", "massgen-temporal.fish"},
	}
}

func (r *release) in(name string) string { return filepath.Join(r.source, filepath.FromSlash(name)) }

// printed writes what a program prints into a file with a name, and returns its path. The program has no settings and
// a home of its own.
func (r *release) printed(ctx context.Context, name, run string, args ...string) (string, error) {
	home := filepath.Join(r.work, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, run, args...)
	c.Dir, c.Env, c.Stderr = home, []string{"HOME=" + home, "USERPROFILE=" + home}, os.Stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", filepath.Base(run), strings.Join(args, " "), err)
	}
	to := filepath.Join(r.work, name)
	return to, os.WriteFile(to, text, plainMode)
}
