package workspace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/agents"
)

func (s scene) runs(argv ...string) runCommandResult {
	s.t.Helper()
	text, err := json.Marshal(runCommandArgs{Argv: argv})
	must(s.t, err)
	out, err := toolCalled(s.t, s.Tools(), "run_command").Call(agents.WithCallInfo(s.t.Context(), s.info), string(text))
	var r runCommandResult
	must(s.t, json.Unmarshal([]byte(out), &r))
	var told agents.ErrorResult
	if (err != nil) == r.Success || (r.Error == "") != r.Success || errors.As(err, &told) && string(told) != out {
		s.t.Errorf("%v gives %v and %s", argv, err, out)
	}
	return r
}

func TestRunCommand(t *testing.T) {
	t.Setenv("MASSGEN_TEST_SECRET", "hush")
	peer := t.TempDir()
	must(t, os.WriteFile(filepath.Join(peer, "answer"), []byte("theirs"), 0o644))
	s := open(t, Options{Reads: []Mount{{"agent2", peer}}, Command: &CommandOptions{MaxOutput: 2000}})
	if r := s.runs("sh", "-c", "echo hi > f; cat f; pwd; echo $HOME; exit 4"); r.Success || r.Exit != 4 || r.Output != "hi\n"+s.Dir()+"\n"+s.Dir()+"\n" || r.Error != "it ended with status 4" {
		t.Errorf("%+v", r)
	}
	if r := s.runs("env"); !r.Success || strings.Contains(r.Output, "hush") || strings.Count(r.Output, "\n") != 4 {
		t.Errorf("the environment is:\n%s", r.Output)
	}
	if r := s.runs("sh", "-c", "cat "+peer+"/answer && echo x > "+peer+"/answer"); !strings.HasPrefix(r.Output, "theirs") || r.Success {
		t.Errorf("%+v", r)
	}
	if r := s.runs("seq", "100000"); !r.Success || len(r.Output) > 2100 || !strings.HasPrefix(r.Output, "1\n2\n") || !strings.HasSuffix(r.Output, "\n100000\n") || r.Omitted != 588895-2000 {
		t.Errorf("%+v", r)
	}
	if r := s.runs("no-such-program"); r.Error != "there is no program no-such-program here" {
		t.Errorf("%+v", r)
	}
	if r := s.runs("sh", "-c", "kill -9 $$"); r.Exit != 137 || r.Error != "it was ended by SIGKILL" {
		t.Errorf("%+v", r)
	}
	s.is("run_command", args{"argv": "ls -l"}, `{"success":false,"error":"the arguments of run_command are not as its schema has them: json: cannot unmarshal string into Go struct field runCommandArgs.argv of type []string"}`)
	s.is("run_command", args{"argv": []string{}}, `{"success":false,"error":"argv is empty: it begins with the program"}`)
	s.is("run_command", args{"argv": []string{"ls"}, "dir": "agent2"}, `{"success":false,"error":"commands run in the workspace, not in agent2: leave dir out"}`)
	s.is("run_command", args{"argv": []string{"ls"}, "dir": "f"}, `{"success":false,"error":"f is no folder to run a command in"}`)
}

// TestNoCommandInAnotherFolder: the path of a workspace leads elsewhere by now.
func TestNoCommandInAnotherFolder(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "work"), t.TempDir()
	s := open(t, Options{Dir: dir, Command: &CommandOptions{}})
	must(t, s.Check())
	must(t, os.Rename(dir, dir+".old"))
	must(t, os.Symlink(other, dir))
	if r := s.runs("touch", "f"); r.Success || r.Error != "the workspace was moved or removed while it was in use: another one is in its place" {
		t.Errorf("%+v", r)
	}
	if files, err := os.ReadDir(other); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
	must(t, os.Remove(dir))
	if err := s.Check(); err == nil || !strings.HasPrefix(err.Error(), "the workspace was moved or removed while it was in use: ") {
		t.Errorf("error %v", err)
	}
}

func TestRunCommandEndsInTime(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Command: &CommandOptions{Timeout: 100 * time.Millisecond}})
	if r := s.runs("sleep", "600"); !r.TimedOut || r.Success || r.Exit != -1 || r.Error != "it was ended after 100ms: do it in smaller steps" {
		t.Errorf("%+v", r)
	}
}

// TestOnlyAllowedPrograms tries to start another program by way of allowed ones, which
// the kernel has to refuse.
func TestOnlyAllowedPrograms(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Command: &CommandOptions{Allow: []string{"sh", "env", "xargs", "find", "git", "cp", "ech?"}}})
	for _, argv := range [][]string{{"sh", "-c", "echo ok"}, {"env", "echo", "ok"}, {"sh", "-c", "echo ok | xargs echo"}, {"git", "-c", "alias.x=!echo ok", "x"}} {
		if r := s.runs(argv...); !r.Success || r.Output != "ok\n" {
			t.Errorf("%v: %+v", argv, r)
		}
	}
	for _, argv := range [][]string{
		{"id"}, {"/usr/bin/id"}, {"./id"}, {"sh", "-c", "id"}, {"env", "id"}, {"sh", "-c", "echo x | xargs id"}, {"sh", "-c", "cp $(which id) mine; ./mine"},
		{"find", ".", "-maxdepth", "0", "-exec", "id", ";"}, {"git", "-c", "alias.x=!id", "x"}, {"sh", "-c", "exec /usr/bin/id"},
	} {
		if r := s.runs(argv...); strings.Contains(r.Output, "uid=") {
			t.Errorf("%v: %+v", argv, r)
		}
	}
}

func TestDeniedWords(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Command: &CommandOptions{Deny: []string{"curl", "rm", "python*"}}})
	for _, argv := range [][]string{
		{"curl", "x"}, {"/usr/bin/curl"}, {"env", "curl"}, {"sh", "-c", "true;curl x"}, {"sh", "-c", "$(rm -rf x)"},
		{"find", ".", "-exec", "rm", "{}", ";"}, {"python3.11", "-c", "x"}, {"git", "-c", "alias.x=!rm f", "x"},
	} {
		if r := s.runs(argv...); !strings.Contains(r.Error, "may not run here: do without it") {
			t.Errorf("%v: %+v", argv, r)
		}
	}
	if r := s.runs("echo", "curly", "farm"); !r.Success {
		t.Errorf("%+v", r)
	}
}

// TestWithoutAFenceCommandsAreRefused takes the fence away, as where there is none: only
// who asks a person about each has commands run there.
func TestWithoutAFenceCommandsAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Command: &CommandOptions{}})
	s.command.fence, s.command.reason = nil, "the moon is full"
	if r := s.runs("touch", "d"); r.Error != "commands do not run here: nobody is there to approve them, and the moon is full" {
		t.Errorf("%+v", r)
	}
	s.command.Unfenced = true
	if r := s.runs("touch", "c"); !r.Success {
		t.Errorf("%+v", r)
	}
	s.is("list_files", args{}, `{"success":true,"path":".","entries":[{"path":"c","type":"file","size":0}]}`)
}

// TestCommandsSeeAnswers has commands read what the call was shown, and try to change it.
func TestCommandsSeeAnswers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "temp", "a")
	one, two := snapshot(t, "f", "one"), snapshot(t, "f", "two")
	s := open(t, Options{Answers: anyFolder, AnswersDir: dir, Command: &CommandOptions{}})
	s.info = agents.CallInfo{Answers: []agents.ShownAnswer{{Name: "agent1", Dir: one}, {Name: "agent2"}, {Name: "agent3", Dir: two}}}
	if r := s.runs("sh", "-c", `ls "$ANSWERS"; cat "$ANSWERS"/*/f`); !r.Success || r.Output != "agent1\nagent3\nonetwo" {
		t.Errorf("%+v", r)
	}
	for _, line := range []string{
		`echo x > "$ANSWERS/agent1/f"`, `echo x > "$ANSWERS/agent1/new"`, `rm "$ANSWERS/agent1/f"`, `rm "$ANSWERS/agent1"`, `touch "$ANSWERS/new"`,
		`ln -sfn "$HOME" "$ANSWERS/agent1"`, `mv "$ANSWERS" mine`, `cd "$ANSWERS/agent1" && echo x > ../new`, `chmod 777 "$ANSWERS/agent1/f"`,
		`cp -l "$ANSWERS/agent1/f" mine && echo x > mine`, `ln -s "$ANSWERS/agent1/f" link; echo x > link`,
	} {
		if r := s.runs("sh", "-c", line); r.Success {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if text, err := os.ReadFile(filepath.Join(one, "f")); err != nil || string(text) != "one" {
		t.Errorf("the answer's file has %q, %v", text, err)
	}

	// What another call was shown is out of reach, by its old path too.
	s.info.Answers = []agents.ShownAnswer{{Name: "agent1", Dir: two}}
	if r := s.runs("sh", "-c", `ls "$ANSWERS"; cat "$ANSWERS/agent1/f" `+one+`/f`); r.Success || !strings.HasPrefix(r.Output, "agent1\ntwo") || strings.Contains(r.Output, "one") {
		t.Errorf("%+v", r)
	}
	must(t, s.links.show(nil))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
	if about := toolCalled(t, s.Tools(), "run_command").Definition().Description; !strings.Contains(about, "$ANSWERS/agent1 and so on") {
		t.Error(about)
	}
}

// TestLinksOfAnEarlierRunGo keeps what is no link.
func TestLinksOfAnEarlierRunGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Symlink("/", filepath.Join(dir, "agent1")))
	must(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644))
	s := open(t, Options{Answers: anyFolder, AnswersDir: dir, Command: &CommandOptions{}})
	if r := s.runs("ls", dir); r.Output != "mine\n" {
		t.Errorf("%+v", r)
	}
}

// TestCommandsOnlyReadMounts has commands try to change what a peer is judged by: in
// place, by its mode and times, and by a name of their own for the same file.
func TestCommandsOnlyReadMounts(t *testing.T) {
	t.Parallel()
	peer := t.TempDir()
	file := filepath.Join(peer, "answer")
	must(t, os.WriteFile(file, []byte("theirs"), 0o644))
	was, err := os.Stat(file)
	must(t, err)
	s := open(t, Options{Reads: []Mount{{"agent2", peer}}, Command: &CommandOptions{}})
	for _, line := range []string{
		"echo x > $0/answer", "chmod 777 $0/answer", "touch -d 2001-01-01 $0/answer", "rm $0/answer", "mv $0/answer mine", "ln $0/answer mine && echo x > mine",
		"echo x > $0/new", "mkdir $0/new", "sed -i s/t/x/ $0/answer", "chmod 777 $0", "ln -s answer $0/new",
	} {
		if r := s.runs("sh", "-c", line, peer); r.Success {
			t.Errorf("%s: %+v", line, r)
		}
	}
	is, err := os.Stat(file)
	must(t, err)
	text, err := os.ReadFile(file)
	entries, listing := os.ReadDir(peer)
	if err != nil || listing != nil || string(text) != "theirs" || len(entries) != 1 || is.Mode() != was.Mode() || !is.ModTime().Equal(was.ModTime()) {
		t.Errorf("it is %q now, %v, of %v, beside %v", text, is.Mode(), is.ModTime(), entries)
	}
}
