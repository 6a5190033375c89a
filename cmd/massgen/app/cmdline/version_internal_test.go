package cmdline

import (
	"runtime/debug"
	"testing"
)

// TestVersionLine of each way to build the program.
func TestVersionLine(t *testing.T) {
	t.Parallel()
	const commit = "02ca30cb0123456789abcdef0123456789abcdef"
	info := func(version string, settings ...debug.BuildSetting) func() (*debug.BuildInfo, bool) {
		return func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: version}, Settings: settings}, true
		}
	}
	revision, modified := debug.BuildSetting{Key: "vcs.revision", Value: commit}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, c := range map[string]struct {
		version, commit string
		read            func() (*debug.BuildInfo, bool)
		want            string
	}{
		"release":             {"v1.2.3", commit, info("(devel)"), "massgen version v1.2.3 (commit 02ca30cb0123, go1.26.8)"},
		"go install":          {"", "", info("v1.2.3"), "massgen version v1.2.3 (go1.26.8)"},
		"go build of a tag":   {"", "", info("v1.2.3", revision), "massgen version v1.2.3 (commit 02ca30cb0123, go1.26.8)"},
		"go build, changed":   {"", "", info("v1.2.4-0.20260101000000-02ca30cb0123+dirty", revision, modified), "massgen version v1.2.4-0.20260101000000-02ca30cb0123+dirty (commit 02ca30cb0123-dirty, go1.26.8)"},
		"go build, no git":    {"", "", info("(devel)"), "massgen version (devel) (go1.26.8)"},
		"nothing is recorded": {"", "", func() (*debug.BuildInfo, bool) { return nil, false }, "massgen version (unknown)"},
	} {
		if got := versionLine(c.version, c.commit, c.read); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
