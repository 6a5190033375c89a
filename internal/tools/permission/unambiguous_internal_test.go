package permission

import "testing"

// FuzzUnambiguous compares the decision without rules to one that reads all arguments.
func FuzzUnambiguous(f *testing.F) {
	for _, arguments := range []string{
		``, ` `, `{}`, `{ }`, ` {}`, `{} `, `{}{}`, `{}x`, `[]`, `"a"`, `null`, `{"a":1}`, `{"a" : "b:c" , "d":[1,{"e":"f"}]}`,
		`{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"k":1,"K":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":1,"b":2}}`, `{"a":{"b":1,"B":2}}`,
		`{"a":"\"","b":"\\","c":"\\\""}`, `{"a":"\"b\":","b":1}`, `{"ſ":1,"s":2}`, "{\"\xff\":1,\"\xfe\":2}", "{\"\xff\":1,\"\ufffd\":2}",
		`{"":1}`, `{"":1,"":2}`, `{"a":1e999}`, `{"a":1,}`, `{"a"}`, `{"a":`, `{"a":"`, `{"a`, `{"a":tru}`, `{"a":01}`, "{\"a\":\"\n\"}",
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0,"k":1,"l":2,"m":3,"n":4,"o":5,"p":6,"q":7}`,
	} {
		f.Add(arguments)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		want := Ruling{Allow, "no permission rule is about it: allow"}
		if _, err := read(arguments); err != nil {
			want = Ruling{Deny, "the arguments of t " + err.Error()}
		}
		if got := Decide(Rules{}, "t", arguments); got != want {
			t.Fatalf("%q: %v, not %v", arguments, got, want)
		}
	})
}

func TestUnambiguous(t *testing.T) {
	for arguments, want := range map[string]bool{
		`{}`: true, `{"what":"the \"weather\": now"}`: true, `{"a" : {"b":[{"c":1}]}, "d":2}`: true,
		`{"a":1,"A":2}`: false, `{"a":1,"b":{"a":2}}`: false, `{"\u0061":1}`: false, `["a"]`: false, `{"a":1`: false, `{"a":1}1`: false,
	} {
		if got := isUnambiguous(arguments); got != want {
			t.Errorf("%s: %v", arguments, got)
		}
	}
}
