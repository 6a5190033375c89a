package engine

import (
	"strings"
	"testing"

	taskqueue "go.temporal.io/api/taskqueue/v1"
)

// TestWhyWorkersPlayNoTurn of a client, by what the server knows of those that have its config.
func TestWhyWorkersPlayNoTurn(t *testing.T) {
	own := database{id: "OWN", place: "sessions on db:5432, schema massgen"}
	other := database{id: "OTHER", place: own.place}
	e := &Engine{queue: "q", address: "host:7233", database: own}
	const theirs = "have the database sessions on db:5432, schema massgen (id OTHER), and this program has sessions on db:5432, schema massgen (id OWN): give them"
	for name, c := range map[string]struct {
		workers []string
		want    string
	}{
		"nobody":                              {nil, ""},
		"one that has ended a moment ago":     {[]string{own.identity()}, ""},
		"one with another database":           {[]string{own.identity(), other.identity()}, theirs},
		"one of an older version":             {[]string{"17@host@"}, "are of an older version"},
		"an older one and another database":   {[]string{"17@host@", other.identity()}, theirs},
		"another database and an older one":   {[]string{other.identity(), "17@host@"}, theirs},
		"an older one and one that has ended": {[]string{"17@host@", own.identity()}, "are of an older version"},
	} {
		var list []*taskqueue.PollerInfo
		for _, identity := range c.workers {
			list = append(list, &taskqueue.PollerInfo{Identity: identity})
		}
		err := e.foreignWorkers(list)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
