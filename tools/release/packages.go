package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers its format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers its format
)

const homepage = "https://github.com/massgen/massgen"

const description = `several language models answer one question, read each other and vote
massgen is the program for one machine. massgen-temporal plays the turns by
workers on a Temporal server, with the sessions in PostgreSQL; the units
massgen-worker and massgen-serve start it, and are off until you enable them.`

// packages writes the packages for one processor.
func (r *release) packages(p platform, all []file) error {
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(format, p, all); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

func (r *release) pack(format string, p platform, all []file) (err error) {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "massgen", Arch: p.arch, Platform: p.os, Version: r.from.version, VersionSchema: "semver",
		Maintainer: "The massgen authors <" + homepage + ">", Description: description, Homepage: homepage, License: "Apache-2.0",
		Section: "utils", Priority: "optional", MTime: r.from.at,
		Overridables: nfpm.Overridables{
			Contents: r.contents(all), Recommends: []string{"ca-certificates"},
			// Both have a default that is the name of the machine or depends on its processors.
			RPM: nfpm.RPM{Summary: "Several language models answer one question, read each other and vote", BuildHost: "localhost", Compression: "gzip:6"},
			Deb: nfpm.Deb{Compression: "gzip"},
		},
	})
	to, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return packager.Package(info, to)
}

// contents are the files of a package.
func (r *release) contents(all []file) (list files.Contents) {
	for _, f := range all {
		if f.system == "" {
			continue
		}
		c := &files.Content{Source: f.from, Destination: f.system, FileInfo: &files.ContentFileInfo{Mode: f.mode, MTime: r.from.at}}
		switch {
		case f.link != "":
			c.Source, c.Type = f.link, files.TypeSymlink
		case f.config:
			c.Type = files.TypeConfigNoReplace
		}
		list = append(list, c)
	}
	return list
}
