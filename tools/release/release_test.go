package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// at is the time of all files in these tests.
func at() time.Time { return time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC) }

// TestOrigin of a tagged commit, one without a tag, one with changed files, and of a folder without Git.
func TestOrigin(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
			"GIT_COMMITTER_DATE=2026-01-02T03:04:06Z", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	look := func(version, epoch string) origin {
		t.Helper()
		o, err := originOf(context.Background(), dir, version, "", epoch)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	run("init", "--quiet")
	run("commit", "--quiet", "--allow-empty", "-m", "first")
	o := look("", "")
	if want := regexp.MustCompile(`^v0\.0\.0-20260102030406-` + o.commit[:12] + `$`); !want.MatchString(o.version) || !o.at.Equal(at()) {
		t.Errorf("without a tag: %+v", o)
	}
	run("tag", "v1.2.3")
	run("tag", "v1.2.3-rc1")
	if o := look("", ""); o.version != "v1.2.3" || o.number() != "1.2.3" {
		t.Errorf("with a tag: %+v", o)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := look("", "1"); o.version != "v1.2.3+dirty" || o.at.Unix() != 1 {
		t.Errorf("with a new file: %+v", o)
	}
	for _, version := range []string{"1.2.3", "v1.2", "vx"} {
		if _, err := originOf(context.Background(), dir, version, "c", "1"); err == nil || !strings.Contains(err.Error(), "no version as v1.2.3") {
			t.Errorf("%s is a version: %v", version, err)
		}
	}
	outside := t.TempDir()
	if o, err := originOf(context.Background(), outside, "v1.0.0", "c", "1"); err != nil || o.commit != "c" {
		t.Errorf("where all is given, Git is asked: %+v, %v", o, err)
	}
	if _, err := originOf(context.Background(), outside, "v1.0.0", "", "1"); err == nil || !strings.Contains(err.Error(), "name the commit") {
		t.Errorf("outside of a clone: %v", err)
	}
}

// TestArguments that are refused.
func TestArguments(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	given := []string{"-version", "v1.0.0", "-commit", "c"}
	for want, args := range map[string][]string{
		"has files already":    {"-out", full},
		"there is no":          {"-platforms", "plan9/amd64"},
		"one word too many":    {"now"},
		"needs one system":     {"-root", full},
		"no version as v1.2.3": {"-version", "1"},
	} {
		if err := run(context.Background(), append(slices.Clone(given), args...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// made returns a release with a small program, and its files.
func made(t *testing.T) (*release, []file) {
	t.Helper()
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	r := &release{out: t.TempDir(), work: t.TempDir(), from: origin{version: "v1.2.3", commit: "c0ffee", at: at()}}
	return r, []file{
		{from: path("program", "a program"), archive: "massgen-temporal", system: "/usr/bin/massgen-temporal", image: true, mode: programMode},
		{from: path("LICENSE", "a license"), archive: "LICENSE", system: docs + "copyright", image: true, mode: plainMode},
		{from: path("env", "PASSWORD=x"), system: "/etc/massgen/massgen.env", mode: secretMode, config: true},
		{link: "massgen", system: "/usr/share/bash-completion/completions/massgen-temporal"},
	}
}

func only(t *testing.T, r *release) (name string, data []byte) {
	t.Helper()
	entries, err := os.ReadDir(r.out)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	data, err = os.ReadFile(filepath.Join(r.out, entries[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	return entries[0].Name(), data
}

// TestArchives have the files of an archive alone, with their modes and one time.
func TestArchives(t *testing.T) {
	t.Parallel()
	want := map[string]fs.FileMode{"massgen_1.2.3_OS/massgen-temporal": programMode, "massgen_1.2.3_OS/LICENSE": plainMode}
	r, files := made(t)
	if err := r.archive(platform{"linux", "amd64"}, files); err != nil {
		t.Fatal(err)
	}
	name, data := only(t, r)
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]fs.FileMode{}
	for in := tar.NewReader(unpacked); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(at()) {
			t.Errorf("%s is of %v", h.Name, h.ModTime)
		}
		got[strings.Replace(h.Name, "linux_amd64", "OS", 1)] = h.FileInfo().Mode()
	}
	if name != "massgen_1.2.3_linux_amd64.tar.gz" || !maps.Equal(got, want) {
		t.Errorf("%s: %v", name, got)
	}

	r, files = made(t)
	if err := r.archive(platform{"windows", "amd64"}, files); err != nil {
		t.Fatal(err)
	}
	name, data = only(t, r)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	clear(got)
	for _, f := range z.File {
		got[strings.Replace(f.Name, "windows_amd64", "OS", 1)] = f.Mode()
		if !f.Modified.Equal(at()) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	if name != "massgen_1.2.3_windows_amd64.zip" || !maps.Equal(got, want) {
		t.Errorf("%s: %v", name, got)
	}
}

// TestImage is read by the code of an OCI layout and by that of "docker load", and starts as the Containerfile's does.
func TestImage(t *testing.T) {
	t.Parallel()
	r, files := made(t)
	if err := r.image(platform{"linux", "arm64"}, files); err != nil {
		t.Fatal(err)
	}
	name, _ := only(t, r)
	docker, err := tarball.ImageFromPath(filepath.Join(r.out, name), nil)
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(r.work, "linux_arm64", "image"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 || m.Manifests[0].Platform.Architecture != "arm64" || m.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "massgen-temporal:1.2.3" {
		t.Errorf("index.json has %+v", m.Manifests)
	}
	oci, err := index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	named, err := oci.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := docker.ConfigName(); err != nil || other != named {
		t.Errorf("Docker reads another image: %v, %v", other, err)
	}
	f, err := oci.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../deploy/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(string(text), "FROM scratch\n")
	for _, line := range []string{
		"ENV " + strings.Join(f.Config.Env, " "), "WORKDIR " + f.Config.WorkingDir, "USER " + f.Config.User, `ENTRYPOINT ["` + strings.Join(f.Config.Entrypoint, `", "`) + `"]`,
		"VOLUME " + strings.Join(slices.Sorted(maps.Keys(f.Config.Volumes)), " "),
	} {
		if !strings.Contains(last, line+"\n") {
			t.Errorf("the Containerfile has no line %s", line)
		}
	}
	layers, err := oci.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(content); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		switch h.Name {
		case "tmp/":
			if h.Mode != 0o1777 {
				t.Errorf("/tmp has the mode %o", h.Mode)
			}
		case "var/lib/massgen/":
			if h.Uid != imageUser || h.Mode != 0o700 {
				t.Errorf("the state folder is of %d, mode %o", h.Uid, h.Mode)
			}
		case "etc/ssl/certs/ca-certificates.crt":
			data, err := io.ReadAll(in)
			if err != nil || !x509.NewCertPool().AppendCertsFromPEM(data) || bytes.Count(data, []byte("BEGIN CERTIFICATE")) < 50 {
				t.Errorf("the certificates are none: %v", err)
			}
		}
	}
	want := "dev/ etc/ etc/group etc/passwd etc/ssl/ etc/ssl/certs/ etc/ssl/certs/ca-certificates.crt proc/ sys/ tmp/ usr/ usr/bin/ usr/bin/massgen-temporal " +
		"usr/share/ usr/share/doc/ usr/share/doc/massgen/ usr/share/doc/massgen/copyright var/ var/lib/ var/lib/massgen/"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the image has %s", got)
	}
}

// TestPackages of both formats are named as their tools expect.
func TestPackages(t *testing.T) {
	t.Parallel()
	r, files := made(t)
	if err := r.packages(platform{"linux", "arm64"}, files); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"massgen_1.2.3_arm64.deb", "massgen-1.2.3-1.aarch64.rpm"} {
		if _, err := os.Stat(filepath.Join(r.out, name)); err != nil {
			t.Error(err)
		}
	}
	if err := writeSums(r.out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, sums))
	if err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("%s, %v", text, err)
	}
}
