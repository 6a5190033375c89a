package configs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/models/questions"
)

// simulatedType is the type of backends that are simulated.
const simulatedType = "simulated"

// mostQuestionBytes is the size of the largest file of questions: 16 MiB.
const mostQuestionBytes = 16 << 20

// simulatedKeys are the keys of simulated members. They take seed, too.
func simulatedKeys() []key[Backend] {
	chance := func(field func(*questions.Simulation) *float64) item[Backend] {
		return value(number(0, 1), func(b *Backend) *float64 { return field(&b.Simulated) }).zero("")
	}
	return []key[Backend]{
		{"answers", item[Backend]{read: readAnswers, show: func(b *Backend) string { return b.Answers }}},
		{"accuracy", chance(func(s *questions.Simulation) *float64 { return &s.Accuracy })},
		{"correlation", chance(func(s *questions.Simulation) *float64 { return &s.Correlation })},
		{"conformity", chance(func(s *questions.Simulation) *float64 { return &s.Conformity })},
	}
}

// readAnswers reads a file of questions.
func readAnswers(r *reader, at string, n *yaml.Node, b *Backend) {
	before := len(r.doc.issues)
	pathOf("a file of questions", func(b *Backend) *string { return &b.Answers }).read(r, at, n, b)
	if len(r.doc.issues) > before {
		return
	}
	var err error
	if b.Simulated.Questions, err = readQuestions(b.Answers); err != nil {
		r.doc.fail(n, "%s: %s", at, err)
	}
}

// readQuestions reads questions that all have a right answer. The path may be @examples/NAME.
func readQuestions(path string) ([]questions.Question, error) {
	var data []byte
	var err error
	if example, ok := strings.CutPrefix(path, examplePrefix); ok {
		data, err = exampleFiles.ReadFile(example)
	} else {
		data, err = readAtMost(path, mostQuestionBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the questions: %w", err)
	}
	list, err := questions.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", oneLine(path), err)
	}
	texts := map[string]bool{}
	for _, q := range list {
		if texts[q.Question] {
			return nil, fmt.Errorf("%s: question %s stands in it twice, and a simulated member does not read files; give it once", oneLine(path), oneLine(q.ID))
		}
		texts[q.Question] = true
		if q.Expected == "" {
			return nil, fmt.Errorf("%s: question %s has no right answer; give it expected", oneLine(path), oneLine(q.ID))
		}
	}
	return list, nil
}

// addSimulated notes that the backend at a path is a simulated member.
func (d *document) addSimulated(at string) {
	if d.simulated == nil {
		d.simulated = map[string]*yaml.Node{}
	}
	d.simulated[at] = d.places[join(at, "type")]
}

// checkSimulated refuses simulated members without answers, and keys of simulated members in other
// backends.
func (k *checker) checkSimulated() {
	for _, at := range slices.Sorted(maps.Keys(k.simulated)) {
		for _, name := range []string{"answers", "accuracy"} {
			if k.places[join(at, name)] == nil {
				k.fail(k.simulated[at], "%s has no %s, which a simulated member needs", at, name)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(k.places)) {
		at, name := path[:max(strings.LastIndex(path, "."), 0)], path[strings.LastIndex(path, ".")+1:]
		isOwn := slices.ContainsFunc(simulatedKeys(), func(own key[Backend]) bool { return own.name == name })
		if isOwn && k.simulated[at] == nil {
			k.fail(k.places[path], "%s is a key of simulated members; set type: %s, or leave it out", path, simulatedType)
		}
	}
}
