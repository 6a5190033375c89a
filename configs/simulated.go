package configs

import (
	"cmp"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/models/questions"
)

// Simulated says how a simulated member answers; see debugbackend.Simulation.
type Simulated struct {
	// Answers is the path of the file that Questions are from.
	Answers                           string `json:"-"`
	Questions                         []questions.Question
	Accuracy, Correlation, Conformity float64
}

// simulatedType is the type of backends that are simulated.
const simulatedType = "simulated"

// mostQuestionBytes is the size of the largest file of questions: 16 MiB.
const mostQuestionBytes = 16 << 20

// simulatedKeys are the keys of simulated members. They take seed, too.
func simulatedKeys() []key[Backend] {
	chance := func(field func(*Simulated) *float64) item[Backend] {
		return value(number(0, 1), func(b *Backend) *float64 { return field(&b.Simulated) }).zero("")
	}
	return []key[Backend]{
		{"answers", item[Backend]{(*reader).answers, func(b *Backend) string { return b.Simulated.Answers }}},
		{"accuracy", chance(func(s *Simulated) *float64 { return &s.Accuracy })},
		{"correlation", chance(func(s *Simulated) *float64 { return &s.Correlation })},
		{"conformity", chance(func(s *Simulated) *float64 { return &s.Conformity })},
	}
}

// answers reads a file of questions.
func (r *reader) answers(at string, n *yaml.Node, b *Backend) {
	before := len(r.doc.issues)
	pathOf("a file of questions", func(b *Backend) *string { return &b.Simulated.Answers }).read(r, at, n, b)
	if len(r.doc.issues) > before {
		return
	}
	var err error
	if b.Simulated.Questions, err = readQuestions(b.Simulated.Answers); err != nil {
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
	for _, q := range list {
		if q.Expected == "" {
			return nil, fmt.Errorf("%s: question %s has no right answer; give it expected", oneLine(path), oneLine(q.ID))
		}
	}
	return list, nil
}

// checkSimulated refuses simulated members without answers, and keys of simulated members in other
// backends.
func (k *checker) checkSimulated() {
	for i, a := range k.config.Agents {
		k.checkSimulatedAt(k.agentPaths[i]+".backend", a.Backend)
	}
	k.checkSimulatedAt("context.summarize.backend", k.config.Summary)
	k.checkSimulatedAt("topic.backend", k.config.Topic.Backend)
	k.checkSimulatedAt("memory.backend", k.config.Memory.Backend)
}

func (k *checker) checkSimulatedAt(at string, b Backend) {
	for _, key := range simulatedKeys() {
		place := k.places[join(at, key.name)]
		typ := cmp.Or(k.places[join(at, "type")], k.places[at])
		switch isNeeded := key.name == "answers" || key.name == "accuracy"; {
		case b.Type != simulatedType && place != nil:
			k.fail(place, "%s is a key of simulated members; set type: %s, or leave it out", join(at, key.name), simulatedType)
		case b.Type == simulatedType && isNeeded && place == nil && typ != nil:
			k.fail(typ, "%s has no %s, which a simulated member needs", at, key.name)
		}
	}
}
