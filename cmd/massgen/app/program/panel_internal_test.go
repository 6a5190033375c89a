package program

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOwnConfigIsNotOfTheCurrentFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var files []string
	for _, folder := range []string{".config", "xdg"} {
		file := filepath.Join(dir, folder, "massgen", "config.yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for _, tc := range []struct{ xdg, home, want string }{
		{"", "", defaultConfig},
		{"xdg", "", defaultConfig},
		{"xdg", ".", defaultConfig},
		{"xdg", dir, files[0]},
		{filepath.Join(dir, "xdg"), "", files[1]},
		{filepath.Join(dir, "xdg"), dir, files[1]},
		{filepath.Join(dir, "none"), dir, defaultConfig},
	} {
		p := testProgram(t)
		p.Env.Lookup = func(name string) (string, bool) {
			value := map[string]string{"XDG_CONFIG_HOME": tc.xdg, "HOME": tc.home}[name]
			return value, value != ""
		}
		if got := p.Panels.Own(); got != tc.want {
			t.Errorf("XDG_CONFIG_HOME=%s HOME=%s: %s, want %s", tc.xdg, tc.home, got, tc.want)
		}
	}
}
