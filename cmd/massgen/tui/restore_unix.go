//go:build unix

package tui

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// restorer is a shell that waits for the end of this process. After an end without a message, such as by
// kill -9, the shell restores the terminal's settings and screen.
type restorer struct {
	word io.WriteCloser
	cmd  *exec.Cmd
}

// resetScreen ends the modes of a screen: the alternate screen, the mouse, bracketed paste, reports of
// focus and keys, and a hidden cursor.
const resetScreen = `\033[?1049l\033[?1002l\033[?1003l\033[?1006l\033[?2004l\033[?1004l\033[>4m\033[<u\033[?25h\033[0m\r\n`

// startRestorer starts the shell for a terminal, and returns when the shell knows the terminal's
// settings. It returns nil if there is no such shell: then nothing is restored after kill -9.
func startRestorer(terminal *os.File) *restorer {
	const script = `trap "" INT TERM HUP QUIT TTOU
settings=$(stty -g <&3) || exit 1
echo ready
read -r word || { stty "$settings" <&3; printf '` + resetScreen + `' >&3; }`
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.ExtraFiles = []*os.File{terminal}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	word, err := cmd.StdinPipe()
	if err != nil {
		return nil
	}
	said, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	r := &restorer{word, cmd}
	if line, _ := bufio.NewReader(said).ReadString('\n'); line != "ready\n" {
		r.end()
		return nil
	}
	return r
}

// end tells the shell that this process has restored the terminal, and waits for its end.
func (r *restorer) end() {
	if r == nil {
		return
	}
	_, _ = io.WriteString(r.word, "over\n") // a shell that is gone needs no word
	_ = r.word.Close()                      // a shell that is gone has closed the other end
	_ = r.cmd.Wait()                        // with this word it ends and restores nothing, so no status matters
}
