package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/leaks"
)

// In the environment of a process that writes turns instead of testing: the
// store's folder, the process's name, and how many turns.
const (
	writerDir   = "STORE_WRITER_DIR"
	writerName  = "STORE_WRITER_NAME"
	writerTurns = "STORE_WRITER_TURNS"
)

func TestMain(m *testing.M) {
	if os.Getenv(writerDir) == "" {
		leaks.Main(m)
		return
	}
	if err := writeTurns(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writeTurns writes turns, of a session of its own and of one that all processes
// share, by turns, and tells of each when it has ended: its session, number and
// answer.
func writeTurns(ctx context.Context) error {
	name := os.Getenv(writerName)
	turns, err := strconv.Atoi(os.Getenv(writerTurns))
	if err != nil {
		return err
	}
	s, err := sqlite.OpenPatiently(ctx, filepath.Join(os.Getenv(writerDir), "state", "sessions.db"))
	if err != nil {
		return err
	}
	for i := range turns {
		id, answer := name, fmt.Sprintf("%s-%d", name, i)
		if i%2 == 1 {
			id = "shared"
		}
		b, err := s.Begin(ctx, id, "q of "+answer)
		if errors.Is(err, sessions.ErrBusy) && id == "shared" {
			id = name
			b, err = s.Begin(ctx, id, "q of "+answer)
		}
		if err != nil {
			return err
		}
		if err := writeTurn(ctx, s, id, b.Turn, answer); err != nil {
			return err
		}
		fmt.Println(id, b.Turn, answer)
	}
	return s.Close()
}

func writeTurn(ctx context.Context, s *sqlite.Store, id string, turn int, answer string) error {
	ref, err := s.Put(ctx, []byte("a text of "+answer))
	if err != nil {
		return err
	}
	event := fmt.Appendf(nil, `{"answer":"%s","text":{"sha256":"%s","bytes":%d}}`, answer, ref.SHA256, ref.Bytes)
	if err := s.Append(ctx, id, turn, event); err != nil {
		return err
	}
	return s.End(ctx, id, turn, sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: answer})
}

// underRace says that the race detector watches, with which SQLite, whose C was
// made Go, is more than ten times slower.
func underRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-race" && s.Value == "true"
	})
}

// writer starts this test as a process that writes turns; told has what it tells.
func writer(t *testing.T, dir, name string, turns int) (process *exec.Cmd, told *bufio.Scanner) {
	t.Helper()
	process = exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), writerDir+"="+dir, writerName+"="+name, writerTurns+"="+strconv.Itoa(turns))
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	return process, bufio.NewScanner(out)
}

// turn is one that was told of.
type turn struct {
	session string
	number  int
	answer  string
}

func parseTurn(t *testing.T, line string) turn {
	t.Helper()
	fields := strings.Fields(line)
	if len(fields) != 3 {
		t.Fatalf("a process told of %q", line)
	}
	number, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return turn{fields[0], number, fields[2]}
}

// stored reads all turns that have an answer, and checks that what belongs to each
// is there.
func stored(t *testing.T, s *sqlite.Store) map[turn]bool {
	t.Helper()
	all := map[turn]bool{}
	list, err := s.List(t.Context(), sessions.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		turns, err := s.Turns(t.Context(), n.ID, 0)
		if err != nil || len(turns) != n.Turns {
			t.Fatalf("session %s has %d turns, not %d, %v", n.ID, len(turns), n.Turns, err)
		}
		for i, one := range turns {
			if one.Number != i+1 {
				t.Errorf("turn %d of session %s stands at %d", one.Number, n.ID, i+1)
			}
			if one.Winner == "" {
				continue
			}
			journal, err := s.Journal(t.Context(), n.ID, one.Number, 0)
			if err != nil || len(journal) != 1 || !strings.Contains(string(journal[0]), `"`+one.Answer+`"`) {
				t.Errorf("the journal of turn %d of session %s: %q, %v", one.Number, n.ID, journal, err)
			}
			all[turn{n.ID, one.Number, one.Answer}] = true
		}
	}
	return all
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"two write at once":           twoWriteAtOnce,
		"killed at any moment":        killedAtAnyMoment,
		"killed as the store is made": killedWhileTheStoreIsMade,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func twoWriteAtOnce(t *testing.T) {
	const each = 1000
	dir := t.TempDir()
	one, toldByOne := writer(t, dir, "one", each)
	two, toldByTwo := writer(t, dir, "two", each)
	told := map[turn]bool{}
	answers := map[string]bool{}
	for _, lines := range []*bufio.Scanner{toldByOne, toldByTwo} {
		for lines.Scan() {
			told[parseTurn(t, lines.Text())] = true
			answers[parseTurn(t, lines.Text()).answer] = true
		}
	}
	for _, process := range []*exec.Cmd{one, two} {
		if err := process.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	all := stored(t, s)
	if len(told) != 2*each || len(answers) != 2*each || len(all) != 2*each {
		t.Errorf("%d turns and %d answers were told of, and %d are stored; want %d", len(told), len(answers), len(all), 2*each)
	}
	for turn := range told {
		if !all[turn] {
			t.Errorf("%v is lost", turn)
		}
	}
	shared, err := s.Session(t.Context(), "shared")
	if err != nil || shared.Turns == 0 {
		t.Errorf("the shared session: %+v, %v", shared, err)
	}
	t.Logf("%d turns of the shared session", shared.Turns)
}

func killedAtAnyMoment(t *testing.T) {
	const kills = 200
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	told := map[turn]bool{}
	for i := range kills {
		process, lines := writer(t, dir, fmt.Sprint("writer", i%3), 1<<20)
		after := time.Duration(random.IntN(40_000)) * time.Microsecond
		wanted := random.IntN(3)
		for range wanted { // so that it is at work and not only starting
			if !lines.Scan() {
				t.Fatal("a process ended by itself")
			}
			told[parseTurn(t, lines.Text())] = true
		}
		timer := time.AfterFunc(after, func() {
			if err := process.Process.Kill(); err != nil {
				t.Error(err)
			}
		})
		for lines.Scan() {
			told[parseTurn(t, lines.Text())] = true
		}
		timer.Stop()
		if err := process.Wait(); err == nil {
			t.Fatal("a process ended by itself")
		}
	}
	s := open(t, dir)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	all := stored(t, s)
	lost := 0
	for turn := range told {
		if !all[turn] {
			lost++
			t.Errorf("%v is lost", turn)
		}
	}
	t.Logf("%d turns were told of, %d are stored, %d are lost", len(told), len(all), lost)
	if len(told) == 0 {
		t.Error("no process came to the end of a turn")
	}
}

func killedWhileTheStoreIsMade(t *testing.T) {
	for i := range 25 {
		dir := t.TempDir()
		process, lines := writer(t, dir, "writer", 1<<20)
		timer := time.AfterFunc(time.Duration(i)*2*time.Millisecond, func() {
			if err := process.Process.Kill(); err != nil {
				t.Error(err)
			}
		})
		var told []turn
		for lines.Scan() {
			told = append(told, parseTurn(t, lines.Text()))
		}
		timer.Stop()
		if err := process.Wait(); err == nil {
			t.Fatal("a process ended by itself")
		}
		s := open(t, dir)
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		all := stored(t, s)
		for _, turn := range told {
			if !all[turn] {
				t.Errorf("%v is lost", turn)
			}
		}
		if left, err := filepath.Glob(s.Path() + "-new-*"); len(left) > 0 || err != nil {
			t.Errorf("unfinished stores stay: %v, %v", left, err)
		}
	}
}
