package serve

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
)

// accessFlags limit who may use a server, and how much.
type accessFlags struct {
	tokenFile      string
	hosts, origins cmdline.Texts
	limits         server.Limits
}

// defaultRuns is how many turns a server runs at a time by default. A panel's turn makes several calls at a time.
const defaultRuns = 100

func (f *accessFlags) flags() []cli.Flag {
	return []cli.Flag{
		cmdline.TextFlag("", "token-file", &f.tokenFile, "let in who sends a token of `FILE`: one a line, with a name before it if there are several (NAME:TOKEN); or set MASSGEN_TOKEN"),
		&cli.GenericFlag{Name: "allow-host", Value: &f.hosts, Usage: "answer requests for the host `NAME` too, as a proxy sends them; may be given several times"},
		&cli.GenericFlag{Name: "allow-origin", Value: &f.origins, Usage: "let pages of `ORIGIN`, such as https://chat.example, use the server; may be given several times"},
		&cli.IntFlag{Name: "max-runs", Destination: &f.limits.Runs, Value: defaultRuns, Usage: "run `N` turns at a time, and refuse others for the moment; 0: no limit"},
		&cli.IntFlag{Name: "max-runs-each", Destination: &f.limits.RunsEach, Usage: "run `N` turns of one token at a time; 0: no limit"},
		&cli.IntFlag{Name: "max-per-minute", Destination: &f.limits.PerMinute, Usage: "begin `N` turns of one token in a minute; 0: no limit"},
	}
}

// read returns who may use the server. Tokens become secrets.
func (f *accessFlags) read(lookup func(string) (string, bool), known *configs.Secrets) (server.Access, error) {
	var a server.Access
	for name, n := range map[string]int{"max-runs": f.limits.Runs, "max-runs-each": f.limits.RunsEach, "max-per-minute": f.limits.PerMinute} {
		if n < 0 {
			return a, fmt.Errorf("--%s: %d is less than 0, which stands for no limit", name, n)
		}
	}
	secret, isSet := lookup("MASSGEN_TOKEN")
	switch {
	case f.tokenFile != "" && isSet && secret != "":
		return a, fmt.Errorf("--token-file and MASSGEN_TOKEN are both given: leave one out")
	case f.tokenFile != "":
		var err error
		if a.Tokens, err = readTokens(f.tokenFile); err != nil {
			return a, fmt.Errorf("--token-file: %w", err)
		}
	case secret != "":
		if err := checkToken(secret); err != nil {
			return a, fmt.Errorf("MASSGEN_TOKEN: %w", err)
		}
		a.Tokens = []server.Token{{Secret: secret}}
	}
	for _, t := range a.Tokens {
		known.Add(t.Secret)
	}
	for _, host := range f.hosts {
		if _, _, err := net.SplitHostPort(host); err == nil || strings.ContainsAny(host, "/*") || host == "" {
			return a, fmt.Errorf("--allow-host: %q is no name of a host: write it without scheme, port and *", plain.Line(host))
		}
		a.Hosts = append(a.Hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
	}
	for _, origin := range f.origins {
		at, err := url.Parse(origin)
		if err != nil || at.Scheme == "" || at.Host == "" || at.Scheme+"://"+at.Host != origin || strings.Contains(origin, "*") {
			return a, fmt.Errorf("--allow-origin: %q is no origin: write it as in https://chat.example, with a port if it has one, and nothing after", plain.Line(origin))
		}
		a.Origins = append(a.Origins, strings.ToLower(origin))
	}
	return a, nil
}

// readTokens reads a file of tokens, one on each line, after an optional name. A line that begins with #
// is a comment.
func readTokens(file string) ([]server.Token, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0: // Windows has no such modes
		return nil, fmt.Errorf("%s can be read or changed by other users: chmod 600 %s", file, wording.ShellWord(file))
	}
	var tokens []server.Token
	lines := bufio.NewScanner(charset.NewReader(f))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parseToken(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		tokens = append(tokens, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s has no token: write one on a line, such as openssl rand -hex 32 makes", file)
	}
	isUnnamed := func(t server.Token) bool { return t.Name == "" }
	if len(tokens) > 1 && slices.ContainsFunc(tokens, isUnnamed) {
		return nil, fmt.Errorf("%s: of several tokens each needs a name before it, NAME:TOKEN: tokens of one name see the same sessions", file)
	}
	return tokens, nil
}

// parseToken reads a token with its optional name. A colon or a blank ends the name.
func parseToken(line string) (server.Token, error) {
	t := server.Token{Secret: line}
	if i := strings.IndexAny(line, ": \t"); i >= 0 {
		t = server.Token{Name: line[:i], Secret: strings.TrimSpace(line[i+1:])}
		if !regexp.MustCompile(`^[A-Za-z0-9._-]{1,32}$`).MatchString(t.Name) {
			return t, errors.New("the name before a token has 1 to 32 letters, digits, dots, _ and -")
		}
	}
	return t, checkToken(t.Secret)
}

// leastToken is the length of the shortest token, in characters: nobody can find such a token by trying.
const leastToken = 16

func checkToken(secret string) error {
	switch {
	case len(secret) < leastToken:
		return fmt.Errorf("the token has fewer than %d characters, and could be guessed: openssl rand -hex 32 makes one", leastToken)
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token has a character that no header can have: letters, digits and signs of ASCII can")
	}
	return nil
}
