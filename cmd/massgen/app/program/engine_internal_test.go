package program

import (
	"os"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
)

// TestKeyOfTheEngineComesFromAVariable, is told to nobody, and goes over TLS.
func TestKeyOfTheEngineComesFromAVariable(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(".env", []byte("MY_KEY=key-of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{cmdline.TemporalKeyVariable: "key-of-a-variable", "MY_KEY": "key-of-a-file"} {
		p := testProgram(t)
		p.Env.Lookup = func(name string) (string, bool) {
			return " key-of-a-variable\n", name == cmdline.TemporalKeyVariable
		}
		p.Options.Cluster.Secure.KeyVariable = name
		at, err := p.Engines.Address()
		if err != nil || at.APIKey != want || at.TLS == nil {
			t.Errorf("%s: %q, TLS %v, %v", name, at.APIKey, at.TLS != nil, err)
		}
		if told := p.Console.Secrets.Redact("the key is " + want); strings.Contains(told, want) {
			t.Errorf("%s: %s", name, told)
		}
	}
	p := testProgram(t)
	p.Options.Cluster.Secure.KeyVariable = cmdline.TemporalKeyVariable
	if at, err := p.Engines.Address(); err != nil || at.APIKey != "" || at.TLS != nil {
		t.Errorf("without a key: %+v, %v", at, err)
	}
	p.Options.Cluster.Secure.KeyVariable = "OTHER"
	if _, err := p.Engines.Address(); err == nil || !strings.Contains(err.Error(), "--temporal-api-key-env: the variable OTHER is not set") {
		t.Errorf("a variable that is not set: %v", err)
	}
}
