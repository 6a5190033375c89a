package providers

import "testing"

// TestKeysAreBare: what surrounds a copied key unseen is no part of it.
func TestKeysAreBare(t *testing.T) {
	for _, around := range []string{"", " ", "\t\r\n", "\u200b", "\ufeff", "\u00a0", "\u2060", " \u200b\u200d"} {
		w := World{Lookup: func(string) (string, bool) { return around + "sk-key" + around, true }}
		if got := w.key("OPENAI_API_KEY"); got != "sk-key" {
			t.Errorf("with %q around it the key is %q", around, got)
		}
	}
}
