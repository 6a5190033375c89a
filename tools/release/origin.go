package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
)

// origin is what a release is made from.
type origin struct {
	version string // as v1.2.3
	commit  string
	at      time.Time // the time of all files
}

// number is the version without its v.
func (o origin) number() string { return strings.TrimPrefix(o.version, "v") }

// originOf completes what is given by what Git knows of a checkout. Nothing is asked of Git if all is given, so a
// folder without a repository will do.
func originOf(ctx context.Context, source, version, commit, epoch string) (o origin, err error) {
	if o.commit = commit; commit == "" {
		if o.commit, err = git(ctx, source, "rev-parse", "HEAD"); err != nil {
			return o, fmt.Errorf("-commit: %w; name the commit, or run this in a clone", err)
		}
	}
	if epoch == "" {
		if epoch, err = git(ctx, source, "show", "--no-patch", "--format=%ct", o.commit); err != nil {
			return o, fmt.Errorf("SOURCE_DATE_EPOCH: %w; set it to the seconds since 1970", err)
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return o, fmt.Errorf("SOURCE_DATE_EPOCH: %q is no number of seconds", epoch)
	}
	o.at = time.Unix(seconds, 0).UTC()
	if o.version = version; version == "" {
		if o.version, err = versionOf(ctx, source, o); err != nil {
			return o, err
		}
	}
	if _, err := semver.StrictNewVersion(o.number()); err != nil || o.number() == o.version {
		return o, fmt.Errorf("-version: %q is no version as v1.2.3", o.version)
	}
	return o, nil
}

// versionOf returns the tag of HEAD, else a version like the one that Go makes of a commit. Changed files show in it.
func versionOf(ctx context.Context, source string, o origin) (string, error) {
	changed, err := git(ctx, source, "status", "--porcelain")
	if err != nil {
		return "", fmt.Errorf("-version: %w; name the version", err)
	}
	dirty := ""
	if changed != "" {
		dirty = "+dirty"
	}
	// Without the setting Git takes v1.2.3-rc1 for newer than v1.2.3.
	tags, err := git(ctx, source, "-c", "versionsort.suffix=-", "tag", "--points-at", "HEAD", "--list", "v*", "--sort=-version:refname")
	if err != nil {
		return "", fmt.Errorf("-version: %w; name the version", err)
	}
	if tag, _, _ := strings.Cut(tags, "\n"); tag != "" {
		return tag + dirty, nil
	}
	const digits = 12
	return fmt.Sprintf("v0.0.0-%s-%.*s%s", o.at.Format("20060102150405"), digits, o.commit, dirty), nil
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = dir
	return output(c)
}

// output runs a command and returns what it prints, without the end of the line. A failure has what it says.
func output(c *exec.Cmd) (string, error) {
	text, err := c.Output()
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	said := ""
	if failed := (&exec.ExitError{}); errors.As(err, &failed) {
		said = ": " + strings.TrimSpace(string(failed.Stderr))
	}
	return "", fmt.Errorf("%s: %w%s", strings.Join(c.Args, " "), err, said)
}

// environ is the environment of a build, without what would change its programs.
func environ(p platform) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=", "GOWORK=off")
}
