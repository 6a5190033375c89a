package cmdline

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// "make release" sets these by -ldflags -X; they are empty in any other build.
var (
	releaseVersion string
	releaseCommit  string
)

// Version returns the version of the build: that of the release, else the main module's.
func Version() string {
	version, _ := built(releaseVersion, releaseCommit, debug.ReadBuildInfo)
	return version
}

// VersionLine returns what --version prints: the version, and the commit and Go version as far as they are known.
func VersionLine() string {
	return versionLine(releaseVersion, releaseCommit, debug.ReadBuildInfo)
}

func versionLine(version, commit string, read func() (*debug.BuildInfo, bool)) string {
	version, commit = built(version, commit, read)
	var about []string
	if commit != "" {
		about = append(about, "commit "+commit)
	}
	if info, ok := read(); ok {
		about = append(about, info.GoVersion)
	}
	if len(about) == 0 {
		return "massgen version " + version
	}
	return fmt.Sprintf("massgen version %s (%s)", version, strings.Join(about, ", "))
}

// shortCommit is how many digits of a commit are shown: as many as in a version that Go makes of one.
const shortCommit = 12

// built returns the version and the commit of a build, with "-dirty" behind the commit of changed files. A build of
// a module that was downloaded has no commit beside its version.
func built(version, commit string, read func() (*debug.BuildInfo, bool)) (string, string) {
	info, ok := read()
	if !ok {
		info = &debug.BuildInfo{}
	}
	dirty := false
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && commit == "":
			commit = s.Value
		case s.Key == "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if version == "" {
		version = info.Main.Version
	}
	if version == "" {
		version = "(unknown)"
	}
	if len(commit) > shortCommit {
		commit = commit[:shortCommit]
	}
	if dirty && commit != "" {
		commit += "-dirty"
	}
	return version, commit
}
