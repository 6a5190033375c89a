//go:build judges

package judges

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	leaks.Main(m)
}

// installed returns the path of something that scripts/judges.sh installs. A judge
// that is not there is a failure.
func installed(t *testing.T, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".cache", "judges"}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: scripts/judges.sh installs it", err)
	}
	return path
}

// startLimit is how long a judge may take to say where it listens.
const startLimit = time.Minute

// start runs a judge until t ends and returns its address, which it prints as it
// begins to listen.
func start(t *testing.T, name string, args ...string) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		watch(t, read, address)
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_ = cmd.Wait() // the error is that of the kill
		<-ended
		read.Close()
	})
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	select {
	case a := <-address:
		return a
	case <-ended:
		t.Fatalf("%s ended and did not listen", name)
	case <-ctx.Done():
		t.Fatalf("%s does not listen", name)
	}
	return ""
}

// watch logs what a judge prints, and gives away the first address in it.
func watch(t *testing.T, output *os.File, address chan<- string) {
	pattern := regexp.MustCompile(`(?:listening on|running on) (http://127\.0\.0\.1:\d+)`)
	found := false
	for lines := bufio.NewScanner(output); lines.Scan(); {
		t.Log(lines.Text())
		if m := pattern.FindStringSubmatch(lines.Text()); m != nil && !found {
			found = true
			address <- m[1]
		}
	}
}
