package plain_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/system/plain"
)

// document has fields of each kind that journals and stored messages have.
type document struct {
	Text    string            `json:"text"`
	Number  int64             `json:"number,omitempty"`
	Cost    *float64          `json:"cost"`
	Is      bool              `json:"is"`
	Bytes   []byte            `json:"bytes,omitempty"`
	Raw     json.RawMessage   `json:"raw"`
	Names   map[string]string `json:"names"`
	Parts   []document        `json:"parts"`
	Inner   struct{ A, B int }
	Skipped string `json:"-"`
}

// FuzzUnmarshal: each text is read, or refused, as encoding/json does it.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{
		`{"text":"a\u00e9\ud83d\ude00\n","number":-12,"cost":1.5e-3,"is":true,"bytes":"aGk=","raw":{"a":[1, 2]},"names":{"a":"b"},"parts":[{"text":""}],"Inner":{"A":1}}`,
		`{"cost":null,"raw":null,"names":null,"parts":null,"Text":"case","more":[{}]}`,
		`{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `{"number":1.5}`, `{"number":99999999999999999999}`, `{"number":21000000000000000000}`, `{"number":-21000000000000000000}`, `{"text":1}`, `{"parts":{}}`,
		`{"text":"a","text":"b"}`, `{} {}`, `{"a":`, ``, `null`, "{\"text\":\"a\nb\"}", `{"bytes":"?"}`, `{"raw":tru}`, `{"inner":{"a":2}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want, got document
		wantErr, err := json.Unmarshal(text, &want), plain.Unmarshal(text, &got)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%q: error %v, want %v", text, err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Fatalf("%q is not read as by encoding/json (-want +got):\n%s", text, diff)
		}
	})
}
