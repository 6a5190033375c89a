package arch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// licenses are those under which the program may be passed on with what it is linked with, by
// words that only their texts have. The first that fits counts.
func licenses() [][2]string {
	return [][2]string{
		{"Apache License", "Apache-2.0"},
		{"Mozilla Public License", "MPL-2.0"},
		{"Permission to use, copy, modify, and/or distribute this software", "ISC"},
		{"Permission to use, copy, modify, and distribute this software", "ISC"},
		{"Permission is hereby granted, free of charge", "MIT"},
		{"Redistribution and use in source and binary forms", "BSD"},
		{"This is free and unencumbered software released into the public domain", "Unlicense"},
	}
}

// license names that of a text, empty for one that nobody has looked at yet.
func license(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if strings.HasPrefix(text, "/* spdx-license-identifier: bsd-3-clause or ") {
		return "BSD"
	}
	for _, copyleft := range []string{"GNU GENERAL PUBLIC LICENSE", "GNU AFFERO", "GNU LESSER", "Server Side Public License", "Business Source License"} {
		if strings.Contains(text, strings.ToLower(copyleft)) && !strings.Contains(text, "mozilla public license") {
			return ""
		}
	}
	for _, l := range licenses() {
		if strings.Contains(text, strings.ToLower(l[0])) {
			return l[1]
		}
	}
	return ""
}

// TestLicenses of all modules that are linked into the programs: each is one that lets them be
// passed on. Those that a go.mod replaces are folders of this checkout.
func TestLicenses(t *testing.T) {
	t.Parallel()
	for dir, program := range map[string]string{"../..": "./cmd/massgen", "../../temporal": "./cmd/massgen-temporal"} {
		list := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Replace}}{{.Path}} {{.Dir}}{{end}}{{end}}", program)
		list.Dir, list.Stderr = dir, os.Stderr
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		modules := slices.Compact(slices.Sorted(strings.Lines(string(out))))
		if len(modules) < 20 {
			t.Fatalf("%s is linked with %d modules", program, len(modules))
		}
		for _, line := range modules {
			path, at, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(path, module) || path == "github.com/nexus-rpc/nexus-proto-annotations" { // docs/several_machines.md
				continue
			}
			if !isLicensed(t, at) {
				t.Errorf("%s, which %s is linked with, has no license that is known to let it be passed on: see %s", path, program, at)
			}
		}
	}
}

func isLicensed(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if license(string(text)) != "" {
			return true
		}
	}
	return false
}

// TestLicense knows those that would oblige whoever passes the program on.
func TestLicense(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"MIT License\n\nPermission is hereby granted,\nfree of charge, to any person": "MIT",
		"GNU GENERAL PUBLIC LICENSE\nVersion 3":                                       "",
		"GNU Affero General Public License":                                           "",
		"All rights reserved.":                                                        "",
		"Redistribution and use in source and\nbinary forms, with or without":         "BSD",
	} {
		if got := license(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
