package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

const repository = "../../.."

// leftOut are the beginnings of the blocks of docs/operating.md that the test does not run, with what it does instead,
// as the page says it.
var leftOut = []struct{ begins, instead string }{
	{"docker ", "nothing: it needs a container engine; `tools/deploy` decodes `compose.yaml`, and `scripts/release.sh` runs the image"},
	{"kubectl ", "nothing: it needs a cluster; `tools/deploy` decodes the manifests"},
	{"massgen-temporal worker ", "nothing: the worker of the unit runs"},
	{"make ", "nothing: it measures for minutes"},
	{"sudo apt ", "nothing here: `scripts/release.sh` installs the package; files like those of `/etc/massgen` are in a folder of the test"},
	{"sudo systemctl enable ", "two workers and a server start by the command lines of the units"},
	{"sudo systemctl kill ", "a worker gets SIGKILL while a turn runs, and starts anew"},
	{"sudo install ", "the processes start anew with the flags of `temporal-tls.conf`, and a server that asks for a certificate"},
	{"sudo systemctl stop ", "a turn is played, and the processes end by SIGTERM"},
	{"sudo systemctl start ", "the processes start anew"},
}

// operator has a page, the folder deploy, a PostgreSQL server and a Temporal server, and nothing else.
type operator struct {
	*world
	etc       string // stands for /etc/massgen
	variables []string
	replace   *strings.Replacer // of what the page has in place of the test's addresses and folders
	more      []string          // flags of the units
	ports     [2]string         // of the workers' figures
	listen    string            // of the server
	workers   [2]*process
	server    *process
}

// TestOperatingPage runs the commands of docs/operating.md, in their order.
func TestOperatingPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "docs", "operating.md"))
	ok(t, err)
	page := string(text)
	for _, l := range leftOut {
		if line := fmt.Sprintf("| `%s` | %s |\n", strings.TrimSpace(l.begins), l.instead); !strings.Contains(page, line) {
			t.Errorf("the page does not say what is left out: %s", line)
		}
	}
	o := newOperator(t)
	blocks, ran := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(page, -1), 0
	for _, b := range blocks {
		i := slices.IndexFunc(leftOut, func(l struct{ begins, instead string }) bool { return strings.HasPrefix(b[1], l.begins) })
		if i < 0 {
			o.run(b[1])
			if strings.Contains(b[1], "databases.sh") { // also where some of it is there: an operator runs it again after a loss
				o.run(b[1])
			}
			ran++
			continue
		}
		t.Logf("left out: %s", strings.TrimSpace(b[1]))
		switch leftOut[i].begins {
		case "sudo systemctl enable ", "sudo systemctl start ":
			o.begin()
			o.asks()
		case "sudo systemctl kill ":
			o.losesWorker()
		case "sudo install ":
			o.securesTemporal()
		case "sudo systemctl stop ":
			o.asks()
			o.end()
		}
	}
	if ran < 10 || o.server == nil {
		t.Errorf("only %d blocks of %d ran", ran, len(blocks))
	}
	o.checks()
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	w := newWorldAlone(t)
	o := &operator{world: w, etc: filepath.Join(w.dir, "etc")}
	bin := filepath.Join(w.dir, "bin")
	for _, dir := range []string{o.etc, bin} {
		ok(t, os.MkdirAll(dir, 0o755))
	}
	w.settings.Heartbeat = losingHeartbeat
	settings, err := json.Marshal(w.settings)
	ok(t, err)
	program, err := filepath.Abs(os.Args[0])
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(bin, "massgen-temporal"), fmt.Appendf(nil, "#!/bin/sh\n%s='%s' exec %s \"$@\"\n", programVariable, settings, program), 0o755))
	ok(t, os.Symlink(os.Getenv(temporalTest), filepath.Join(bin, "temporal")))
	port := o.startPostgres()
	var free [3]string
	for i := range free {
		free[i], err = freeAddress()
		ok(t, err)
	}
	o.listen, o.ports = free[0], [2]string{free[1], free[2]}
	o.replace = strings.NewReplacer("/etc/massgen", o.etc, "127.0.0.1:8484", o.listen, "127.0.0.1:9464", o.ports[0], "127.0.0.1:7233", w.address,
		"massgen.dump", filepath.Join(w.dir, "massgen.dump"))
	for _, name := range []string{"panel.yaml", "systemd/massgen.env"} {
		text, err := os.ReadFile(filepath.Join(repository, "deploy", name))
		ok(t, err)
		ok(t, os.WriteFile(filepath.Join(o.etc, filepath.Base(name)), []byte(o.replace.Replace(string(text))), 0o600))
	}
	o.edit(`(?m)^MASSGEN_DATABASE=(.*)$`, `MASSGEN_DATABASE="$1?sslmode=verify-full&sslrootcert=`+o.etc+`/postgres-ca.pem"`)
	o.edit(`(?m)^#MASSGEN_TOKEN=$`, "MASSGEN_TOKEN=0123456789abcdef0123456789abcdef")
	w.database = o.env("MASSGEN_DATABASE")
	o.variables = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + w.dir, "PGPORT=" + port, "TMPDIR=" + os.TempDir(), "GORACE=" + os.Getenv("GORACE")}
	w.database = strings.Replace(w.database, "@127.0.0.1/", "@127.0.0.1:"+port+"/", 1)
	return o
}

// startPostgres starts a server on a port, with a certificate, and returns the port.
func (o *operator) startPostgres() (port string) {
	t := o.t
	at, err := freeAddress()
	ok(t, err)
	_, port, err = net.SplitHostPort(at)
	ok(t, err)
	own := t.(*testing.T).TempDir()
	cert, key := makeCertificate(t, own)
	text, err := os.ReadFile(cert)
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(o.etc, "postgres-ca.pem"), text, 0o600))
	if os.Geteuid() == 0 { // the server runs as somebody else
		other, err := user.Lookup("postgres")
		ok(t, err)
		id, err := strconv.Atoi(other.Uid)
		ok(t, err)
		for dir := own; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
			ok(t, os.Chmod(dir, 0o755))
		}
		for _, name := range []string{cert, key} {
			ok(t, os.Chown(name, id, -1))
		}
	}
	c := exec.Command("bash", filepath.Join(repository, "scripts", "postgres.sh"), "bash", "-c", "echo ready && cat")
	c.Env = append(os.Environ(), "MASSGEN_TEST_SUPERUSER=postgres", fmt.Sprintf("MASSGEN_TEST_OPTIONS=-c listen_addresses=127.0.0.1 -c port=%s -c ssl=on -c ssl_cert_file=%s -c ssl_key_file=%s", port, cert, key))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	ok(t, err)
	out, err := c.StdoutPipe()
	ok(t, err)
	ok(t, c.Start())
	t.Cleanup(func() {
		ok(t, in.Close())
		ok(t, c.Wait())
	})
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatalf("scripts/postgres.sh: %v", err)
	}
	return port
}

// makeCertificate writes a certificate of 127.0.0.1 that signs itself, for both ends, and its key.
func makeCertificate(t testing.TB, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	ok(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	ok(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	ok(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	ok(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// edit changes massgen.env, as an operator does.
func (o *operator) edit(pattern, with string) {
	o.t.Helper()
	name := filepath.Join(o.etc, "massgen.env")
	text, err := os.ReadFile(name)
	ok(o.t, err)
	changed := regexp.MustCompile(pattern).ReplaceAll(text, []byte(with))
	if bytes.Equal(changed, text) {
		o.t.Fatalf("massgen.env has no %s", pattern)
	}
	ok(o.t, os.WriteFile(name, changed, 0o600))
}

// env returns a variable of massgen.env.
func (o *operator) env(name string) string {
	o.t.Helper()
	text, err := os.ReadFile(filepath.Join(o.etc, "massgen.env"))
	ok(o.t, err)
	m := regexp.MustCompile(`(?m)^` + name + `="?([^"\n]*)"?$`).FindSubmatch(text)
	if m == nil {
		o.t.Fatalf("massgen.env has no %s", name)
	}
	return string(m[1])
}

// run runs commands in the folder that has deploy/, with the variables of massgen.env.
func (o *operator) run(commands string) string {
	o.t.Helper()
	const limit = 2 * time.Minute
	c := exec.CommandContext(o.t.Context(), "bash", "-c", "set -euo pipefail\nset -a; . "+o.etc+"/massgen.env; set +a\n"+o.replace.Replace(commands))
	c.Dir, c.Env, c.WaitDelay = repository, o.variables, limit
	out, err := c.CombinedOutput()
	if err != nil {
		o.t.Fatalf("%s%s: %v", commands, out, err)
	}
	return string(out)
}

// command returns the command line of a unit, without the program.
func (o *operator) command(unit string) []string {
	o.t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "deploy", "systemd", unit))
	ok(o.t, err)
	m := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/massgen-temporal (.*)$`).FindSubmatch(text)
	if m == nil {
		o.t.Fatalf("%s starts no massgen-temporal", unit)
	}
	line := strings.NewReplacer("${TEMPORAL_ADDRESS}", o.env("TEMPORAL_ADDRESS"), "${MASSGEN_LISTEN}", o.env("MASSGEN_LISTEN"), "${MASSGEN_METRICS_LISTEN}", o.env("MASSGEN_METRICS_LISTEN"), "$MASSGEN_FLAGS", strings.Join(o.more, " ")).Replace(o.replace.Replace(string(m[1])))
	if strings.Contains(line, "$") {
		o.t.Errorf("%s uses a variable that massgen.env lacks: %s", unit, line)
	}
	return strings.Fields(line)
}

// launch starts a process of a unit.
func (o *operator) launch(folder, unit string, change func(string) string) *process {
	o.t.Helper()
	args := o.command(unit)
	for i := range args {
		args[i] = change(args[i])
	}
	o.way = o.database
	env := append([]string{"MASSGEN_TOKEN=" + o.env("MASSGEN_TOKEN")}, o.variables...)
	return o.world.launch(nil, folder, filepath.Join(o.dir, "bin", "massgen-temporal"), env, args...)
}

func same(text string) string { return text }

// beginWorker starts a worker. The second one is on another machine for the page, and so has another port here.
func (o *operator) beginWorker(i int) {
	o.t.Helper()
	o.workers[i] = o.launch(fmt.Sprint("worker", i+1), "massgen-worker.service", func(text string) string { return strings.ReplaceAll(text, o.ports[0], o.ports[i]) })
}

// begin starts the units, and waits until all are ready.
func (o *operator) begin() {
	o.t.Helper()
	for i := range o.workers {
		o.beginWorker(i)
	}
	o.server = o.launch("server", "massgen-serve.service", same)
	for _, at := range []string{o.ports[0], o.ports[1], o.listen} {
		o.ready(at)
	}
}

func (o *operator) ready(at string) {
	o.t.Helper()
	o.until(at+" is ready", func() bool {
		r, err := http.Get("http://" + at + "/readyz")
		return err == nil && r.Body.Close() == nil && r.StatusCode == http.StatusOK
	})
}

func (o *operator) end() {
	o.t.Helper()
	for _, p := range []*process{o.workers[0], o.workers[1], o.server} {
		ok(o.t, p.Process.Signal(syscall.SIGTERM))
	}
	for _, p := range []*process{o.workers[0], o.workers[1], o.server} {
		<-p.ended
		if status := p.ProcessState.ExitCode(); status != 0 {
			o.t.Errorf("%s ends with %d: %s", p.Args[1], status, p.stderr.String())
		}
	}
}

// asks asks a question by the server, and checks that it has an answer.
func (o *operator) asks() {
	o.t.Helper()
	said := o.run(`curl -fsS http://127.0.0.1:8484/v1/chat/completions -H "Authorization: Bearer $MASSGEN_TOKEN" --json '{"model": "panel", "messages": [{"role": "user", "content": "And at night?"}]}'`)
	if !strings.Contains(said, "canned answer") {
		o.t.Errorf("no answer: %s", said)
	}
}

// losesWorker kills a worker while a turn runs, and starts it anew.
func (o *operator) losesWorker() {
	o.t.Helper()
	answered := make(chan string)
	go func() {
		r, err := http.NewRequest(http.MethodPost, "http://"+o.listen+"/v1/chat/completions", strings.NewReader(`{"model": "panel", "messages": [{"role": "user", "content": "Lost?"}]}`))
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+o.env("MASSGEN_TOKEN"))
			var response *http.Response
			if response, err = http.DefaultClient.Do(r); err == nil {
				text, _ := io.ReadAll(response.Body) // an answer that is cut off lacks what is looked for
				_ = response.Body.Close()            // it was only read
				answered <- string(text)
				return
			}
		}
		answered <- err.Error()
	}()
	o.until("a worker plays", func() bool {
		return strings.Contains(o.figures(o.ports[0]), "massgen_calls_running{") || strings.Contains(o.figures(o.ports[1]), "massgen_calls_running{")
	})
	o.workers[0].kill()
	if said := <-answered; !strings.Contains(said, "canned answer") {
		o.t.Errorf("after the loss of a worker: %s", said)
	}
	o.beginWorker(0)
	o.ready(o.ports[0])
}

func (o *operator) figures(at string) string {
	_, text := get("http://" + at + "/metrics")
	return text
}

// securesTemporal puts a listener that asks for a certificate before Temporal, and starts all anew.
func (o *operator) securesTemporal() {
	t := o.t
	t.Helper()
	o.end()
	own := t.(*testing.T).TempDir()
	cert, key := makeCertificate(t, own)
	for to, from := range map[string]string{"temporal-ca.pem": cert, "temporal.pem": cert, "temporal.key": key} {
		text, err := os.ReadFile(from)
		ok(t, err)
		ok(t, os.WriteFile(filepath.Join(o.etc, to), text, 0o600))
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	ok(t, err)
	trusted := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	ok(t, err)
	trusted.AppendCertsFromPEM(text)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"}})
	ok(t, err)
	t.Cleanup(func() { _ = l.Close() }) // nobody needs it any more
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				to, err := net.Dial("tcp", o.address)
				if err != nil {
					return
				}
				defer to.Close()
				go func() { _, _ = io.Copy(to, from) }() // either end may go
				_, _ = io.Copy(from, to)
			}()
		}
	}()
	o.edit(`(?m)^TEMPORAL_ADDRESS=.*$`, "TEMPORAL_ADDRESS="+l.Addr().String())
	p := o.launch("refused", "massgen-worker.service", func(text string) string { return strings.ReplaceAll(text, o.ports[0], "127.0.0.1:0") })
	o.until("a worker without a certificate says that it does not get in", func() bool {
		return strings.Contains(p.stderr.String(), "Temporal server at "+l.Addr().String())
	})
	p.kill()
	text, err = os.ReadFile(filepath.Join(repository, "deploy", "systemd", "temporal-tls.conf"))
	ok(t, err)
	flags := regexp.MustCompile(`(?m)^Environment="MASSGEN_FLAGS=(.*)"$`).FindStringSubmatch(o.replace.Replace(string(text)))
	loaded := regexp.MustCompile(`(?m)^LoadCredential=(.*):(.*)$`).FindStringSubmatch(o.replace.Replace(string(text)))
	if flags == nil || loaded == nil {
		t.Fatalf("temporal-tls.conf has no flags or no key: %s", text)
	}
	o.more = strings.Fields(strings.ReplaceAll(flags[1], "%d/"+loaded[1], loaded[2]))
	o.begin()
	o.asks()
}

// checks what the commands have left: the sessions of the copy alone, and one after it, and rights that suffice.
func (o *operator) checks() {
	t := o.t
	t.Helper()
	s, err := postgres.Open(t.Context(), o.database)
	ok(t, err)
	defer func() { ok(t, s.Close()) }()
	list, err := s.List(t.Context(), sessions.Filter{})
	ok(t, err)
	// The page's question, and one each after the start, the loss of a worker and TLS; then the copy; one that is gone; and one after the restore.
	if len(list) != 5 {
		t.Errorf("%d sessions", len(list))
	}
	for name, address := range map[string]string{
		"":            strings.Replace(o.database, "//massgen:", "//massgen_run:", 1),
		"certificate": strings.Replace(o.database, "postgres-ca.pem", "temporal-ca.pem", 1),
	} {
		o.way = address
		p := o.world.launch(nil, "client", filepath.Join(o.dir, "bin", "massgen-temporal"), o.variables, "--engine", "local", "--config", filepath.Join(o.etc, "panel.yaml"), "Why?")
		<-p.ended
		if said := p.stderr.String(); (p.ProcessState.ExitCode() == 0) != (name == "") || !strings.Contains(said, name) {
			t.Errorf("by %s: %s", address, said)
		}
	}
}
