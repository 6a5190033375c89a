package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWorkspaceThatChanges takes snapshots while a file, a folder, a pipe and a link that
// leads outside change places. None fails, or has what is outside.
func TestWorkspaceThatChanges(t *testing.T) {
	t.Parallel()
	src, store := live(t)
	at := func(name string) string { return filepath.Join(src, name) }
	must(t, os.Symlink("../outside", at("out")))
	pipe(t, at("pipe"))
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		names := []string{"a.txt", "out", "empty", "pipe", "bin"}
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				// A step fails where there is no pipe.
				_ = os.Rename(at(names[i%5]), at("aside"))
				_ = os.Rename(at(names[(i+1)%5]), at(names[i%5]))
				_ = os.Rename(at("aside"), at(names[(i+1)%5]))
			}
		}
	}()
	for i := range 200 {
		s, err := TakeSnapshot(t.Context(), src, filepath.Join(store, fmt.Sprint(i)), plenty())
		if err != nil {
			t.Error(err)
			continue
		}
		if all := strings.Join(contents(t, s.Dir), "\n"); strings.Contains(all, "not for peers") || strings.Contains(all, "outside") {
			t.Errorf("a snapshot has\n%s", all)
		}
	}
	close(done)
	<-stopped
}

func TestFileIsCopiedAsFarAsItWas(t *testing.T) {
	src, store := live(t)
	to, err := os.OpenRoot(src)
	must(t, err)
	defer to.Close()
	c := &copying{ctx: t.Context(), to: to}
	for size, want := range map[int64]string{5: "hello", 0: "", 100: "hello, and more"} {
		name := fmt.Sprint(size)
		n, err := c.copy(name, strings.NewReader("hello, and more"), size, 0o444)
		text, reading := os.ReadFile(filepath.Join(src, name))
		if err != nil || reading != nil || string(text) != want || n != int64(len(want)) {
			t.Errorf("of %d bytes %d are copied: %q, %v", size, n, text, err)
		}
	}
	must(t, RemoveSnapshot(store))
}

// TestSparseFile has a file that is longer than the disk refused at once, and one that
// fits copied in full.
func TestSparseFile(t *testing.T) {
	src, store := live(t)
	file := filepath.Join(src, "sparse")
	write(t, file, "begins", 0o644)
	must(t, os.Truncate(file, 1<<19))
	s, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "exactly"), plenty())
	must(t, err)
	text, err := os.ReadFile(filepath.Join(s.Dir, "sparse"))
	if err != nil || len(text) != 1<<19 || strings.TrimRight(string(text), "\x00") != "begins" {
		t.Errorf("the copy has %d bytes, %v", len(text), err)
	}
	must(t, os.Truncate(file, 1<<40))
	refused(t, src, store, plenty(), "it has more than 1048576 bytes")
}

// TestLongPaths has a path that is longer than systems take at once, which tools that go
// from folder to folder can make.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	src, store := live(t)
	root, err := os.OpenRoot(src)
	must(t, err)
	defer root.Close()
	deep := strings.Repeat(strings.Repeat("x", 200)+"/", 40)
	must(t, root.MkdirAll(strings.TrimSuffix(deep, "/"), 0o755))
	must(t, root.WriteFile(deep+"file", []byte("deep"), 0o644))
	first, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "one"), plenty())
	must(t, err)
	shared := plenty()
	shared.Previous = first.Dir
	second, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "two"), shared)
	must(t, err)
	copied, err := os.OpenRoot(second.Dir)
	must(t, err)
	defer copied.Close()
	if text, err := copied.ReadFile(deep + "file"); err != nil || string(text) != "deep" {
		t.Errorf("the copy has %q, %v", text, err)
	}
	must(t, RemoveSnapshot(first.Dir))
	if _, err := os.Lstat(first.Dir); err == nil {
		t.Error("it was not removed")
	}
	must(t, RemoveSnapshot(first.Dir))
}

func TestLeftOutIsTold(t *testing.T) {
	src, store := live(t)
	must(t, os.Symlink("/none", filepath.Join(src, "a link")))
	must(t, os.Symlink("none", filepath.Join(src, "\x1b[2J")))
	for i := range mostLeftOut {
		must(t, os.Symlink("none", filepath.Join(src, fmt.Sprintf("z%03d", i))))
	}
	s, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "one"), plenty())
	must(t, err)
	const leads = ": the symbolic link leads outside, or nowhere"
	n := len(s.LeftOut)
	if n != mostLeftOut+1 || s.LeftOut[n-1] != "and 2 more" || !slices.Equal(s.LeftOut[:2], []string{`"\x1b[2J"` + leads, "a link" + leads}) {
		t.Errorf("%d: %q", n, s.LeftOut)
	}
}

// TestSnapshotInItsWorkspace would go on for ever.
func TestSnapshotInItsWorkspace(t *testing.T) {
	t.Parallel()
	src, store := live(t)
	link := filepath.Join(filepath.Dir(src), "link")
	must(t, os.Symlink(filepath.Join(src, "bin"), link))
	for _, dst := range []string{filepath.Join(src, "one"), filepath.Join(src, "not", "there", "yet"), filepath.Join(link, "one")} {
		if _, err := TakeSnapshot(t.Context(), src, dst, plenty()); err == nil || !strings.Contains(err.Error(), "is in the workspace itself: take another") {
			t.Errorf("%s: %v", dst, err)
		}
	}
	if got := contents(t, src); len(got) != 5 {
		t.Errorf("the workspace has\n%s", strings.Join(got, "\n"))
	}
	_, err := TakeSnapshot(t.Context(), src, filepath.Join(src+"-store", "one"), plenty())
	must(t, err)
	must(t, RemoveSnapshot(src+"-store"))
	must(t, os.Mkdir(store, fs.ModePerm))
}
