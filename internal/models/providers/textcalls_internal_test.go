package providers

import "testing"

func TestOnlyTextsOfOthersMayContainCalls(t *testing.T) {
	for address, want := range map[string]bool{
		"https://api.openai.com/v1":                                   false,
		"https://EU.api.OpenAI.com./v1":                               false,
		"https://api.anthropic.com":                                   false,
		"https://generativelanguage.googleapis.com":                   false,
		"https://us-central1-aiplatform.googleapis.com/v1":            false,
		"https://name.openai.azure.com/openai/v1":                     false,
		"http://name:secret@api.openai.com:8080/v1":                   false,
		"http://127.0.0.1:11434/v1":                                   true,
		"https://openrouter.ai/api/v1":                                true,
		"https://api.openai.com.example.org/v1":                       true,
		"https://notopenai.com/v1":                                    true,
		"http://localhost:8000/v1?upstream=https://api.openai.com/v1": true,
		"http://[": false,
	} {
		p, ok := findProvider(anyType)
		if !ok {
			t.Fatal("no type for any service")
		}
		if got := mayWriteCalls(p, address); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
	canned, ok := findProvider(Demo)
	if !ok || mayWriteCalls(canned, "none") {
		t.Error("a canned answer may contain calls")
	}
}
