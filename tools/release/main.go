// Command release makes the files of a release: archives for five systems, packages for Debian and for RPM, images
// for containers and the checksums. It runs in the folder tools:
//
//	go run ./release                    the files of HEAD, in ../dist
//	go run ./release -root DIR          the root of the image alone, in DIR
//
// The files of one commit, one version of Go and one SOURCE_DATE_EPOCH have the same bytes wherever they are made.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// systems are those that a release has programs for.
const systems = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

// platform is a system and a processor, in Go's words.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// ending is that of the programs' files.
func (p platform) ending() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

func platforms(list string) (all []platform, err error) {
	for _, text := range strings.Split(list, ",") {
		system, arch, ok := strings.Cut(text, "/")
		if !ok || !slices.Contains(strings.Split(systems, ","), text) {
			return nil, fmt.Errorf("-platforms: there is no %q: it is some of %s", text, systems)
		}
		all = append(all, platform{system, arch})
	}
	return all, nil
}

// release is what is made, and from what.
type release struct {
	source string // the checkout
	out    string
	work   string // a folder for the time being
	from   origin
}

// run makes what the arguments ask for.
func run(ctx context.Context, args []string) (err error) {
	set := flag.NewFlagSet("release", flag.ContinueOnError)
	source := set.String("source", "..", "the `FOLDER` of the checkout")
	out := set.String("out", "../dist", "the `FOLDER` for the files; it must be empty, or not there")
	root := set.String("root", "", "write the root of the image into `FOLDER`, and nothing else")
	list := set.String("platforms", systems, "the systems, a `LIST` with commas; the packages and images are those of Linux")
	version := set.String("version", "", "the `VERSION`, as v1.2.3; without it the tag of HEAD, else one made of the commit")
	commit := set.String("commit", "", "the `COMMIT`; without it HEAD")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%q is one word too many", set.Arg(0))
	}
	all, err := platforms(*list)
	if err != nil {
		return err
	}
	r := &release{}
	if r.source, err = filepath.Abs(*source); err != nil {
		return err
	}
	if r.from, err = originOf(ctx, r.source, *version, *commit, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "massgen-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	if *root != "" {
		if len(all) != 1 {
			return errors.New("-root needs one system: -platforms linux/amd64")
		}
		r.out = *root
		return r.writeRoot(ctx, all[0])
	}
	if r.out, err = emptyFolder(*out); err != nil {
		return err
	}
	return r.make(ctx, all)
}

// emptyFolder makes a folder that may be there already, but has no files: those of another release would get checksums.
func emptyFolder(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(name, 0o755); err != nil {
		return "", err
	}
	files, err := os.ReadDir(name)
	if err != nil {
		return "", err
	}
	if len(files) > 0 {
		return "", fmt.Errorf("-out: %s has files already: remove them, or name another folder", name)
	}
	return name, nil
}

// make makes all files of a release.
func (r *release) make(ctx context.Context, all []platform) error {
	fmt.Printf("release: %s, commit %s, %s, %s\n", r.from.version, r.from.commit, r.from.at.Format("2006-01-02 15:04:05 MST"), runtime.Version())
	about, err := r.documents(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		programs, err := r.build(ctx, p)
		if err != nil {
			return err
		}
		files := slices.Concat(programs, about)
		if err := r.archive(p, files); err != nil {
			return fmt.Errorf("archive for %s: %w", p, err)
		}
		if p.os != "linux" {
			continue
		}
		if err := r.packages(p, files); err != nil {
			return fmt.Errorf("packages for %s: %w", p, err)
		}
		if err := r.image(p, files); err != nil {
			return fmt.Errorf("image for %s: %w", p, err)
		}
	}
	return writeSums(r.out)
}
