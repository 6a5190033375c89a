package prices

import (
	"strings"
	"testing"
)

// TestTableIsPlausible looks at every line: a slipped decimal point or column would
// be seen here.
func TestTableIsPlausible(t *testing.T) {
	table, err := parse(builtin)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.models) < 100 {
		t.Errorf("only %d models", len(table.models))
	}
	for k, m := range table.models {
		if m.ContextWindow != 0 && (m.ContextWindow < 10_000 || m.ContextWindow > 2_000_000 || m.MaxOutput >= m.ContextWindow) {
			t.Errorf("%s: sizes %d and %d", k, m.ContextWindow, m.MaxOutput)
		}
		for i, r := range m.Rates {
			if r.Input < .01 || r.Input > 100 || r.Output < r.Input || r.Output > 10*r.Input || r.CachedInput > r.Input || r.CacheWrite < r.Input || r.CacheWrite > 1.4*r.Input {
				t.Errorf("%s: %+v", k, r)
			}
			if i > 0 && (r.Input <= m.Rates[i-1].Input || r.Above >= m.ContextWindow) {
				t.Errorf("%s: %+v for long calls", k, r)
			}
		}
	}
	for alias, k := range table.aliases {
		if _, ok := table.models[k]; !ok {
			t.Errorf("%s is an alias of %s, which is not there", alias, k)
		}
	}
	if !strings.Contains(builtin, "table.go") {
		t.Error("the table does not say where its date is")
	}
}

func TestBadTables(t *testing.T) {
	for lines, want := range map[string]string{
		"a,m,,,1,,,2,,\na,m,,,1,,,2,,":                  "prices: a/m: it is there twice",
		"a,m,x,,1,,,2,,\na,x,,,1,,,2,,":                 "prices: a/x: it is there twice",
		"a,m,x x,,1,,,2,,":                              "prices: a/m: its alias x is there twice",
		"a,m,,,1,,,2,,\na,n,m,,1,,,2,,":                 "prices: a/n: its alias m is there twice",
		"a,m,,5,1,,,2,,":                                "prices: a/m: its line for more than 5 tokens does not follow one for less",
		"a,m,,,,,,2,,":                                  `prices: a/m: "" is no price`,
		"a,m,,,1,,,-2,,":                                `prices: a/m: "-2" is no price`,
		"a,m,,,1,x,,2,,":                                `prices: a/m: "x" is no price`,
		"a,m,,,1,,NaN,2,,":                              `prices: a/m: "NaN" is no price`,
		"a,m,,,1,,,2,0,":                                `prices: a/m: "0" is no number of tokens`,
		"a,m,,,1,,,2,,1.5":                              `prices: a/m: "1.5" is no number of tokens`,
		"a,m,,,1,,,2,":                                  "prices: read the table: record on line 2: wrong number of fields",
		"a,m,,,1,,,2,,\na,m,,9,1,,,2,,\na,m,,9,1,,,2,,": "prices: a/m: its line for more than 9 tokens does not follow one for less",
	} {
		if _, err := parse(columns + "\n" + lines); err == nil || err.Error() != want {
			t.Errorf("%q gives %v, want %s", lines, err, want)
		}
	}
	for _, text := range []string{"", "provider,model\n"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q is taken for a table", text)
		}
	}
}
