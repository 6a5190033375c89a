package debugbackend

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/models/questions"
)

// simulatedMember is one agent before one question.
type simulatedMember struct {
	questions.Simulation
	seed     int64
	agent    string
	question questions.Question
}

// ownAnswer returns the answer that the member gives before it has seen others.
//
// For each question and seed there is one shared draw. A member takes it with the square root of the
// correlation as probability, else a draw of its own. So the errors of two members have the
// covariance Correlation × Accuracy × (1 − Accuracy).
func (m simulatedMember) ownAnswer() string {
	who := m.agent
	if m.draw(m.agent, "shares") < math.Sqrt(m.Correlation) {
		who = ""
	}
	if m.draw(who, "right") < m.Accuracy {
		return m.question.Expected
	}
	wrong := wrongAnswers(m.question.Expected)
	return wrong[int(m.draw(who, "wrong")*float64(len(wrong)))]
}

// answerAfter returns the member's answer when it has seen those of the others in a round.
func (m simulatedMember) answerAfter(round int, others []string) string {
	popular, ok := mostCommon(others)
	if ok && m.conforms(round) {
		return popular
	}
	return m.ownAnswer()
}

// conforms reports whether the member has gone over to the others by a round. It has seen their
// answers in each round from 2 on, or in round 1 if it is a judge.
func (m simulatedMember) conforms(round int) bool {
	for r := 2; r <= max(round, 2); r++ {
		if m.draw(m.agent, "conforms in "+strconv.Itoa(r)) < m.Conformity {
			return true
		}
	}
	return false
}

// draw returns a number from 0 up to 1 that is the same for the same seed, question and texts. An
// empty agent has the draws that members share.
func (m simulatedMember) draw(agent, what string) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q", m.seed, m.question.Question, agent, what))
	const bits = 53 // of a float64
	return float64(binary.BigEndian.Uint64(sum[:])>>(64-bits)) / (1 << bits)
}

// mostCommon returns the text that stands most often in a list. ok is false if there is none, or if
// two stand equally often.
func mostCommon(texts []string) (text string, ok bool) {
	count := map[string]int{}
	for _, text := range texts {
		count[text]++
	}
	most := 0
	for _, candidate := range texts {
		switch n := count[candidate]; {
		case n > most:
			text, most, ok = candidate, n, true
		case n == most && candidate != text:
			ok = false
		}
	}
	return text, ok
}

// wrongAnswers returns the three wrong answers to a question with this right one: numbers for a
// number, letters for a letter.
func wrongAnswers(expected string) []string {
	if n, err := strconv.ParseInt(expected, 10, 32); err == nil {
		return []string{strconv.FormatInt(n-1, 10), strconv.FormatInt(n+1, 10), strconv.FormatInt(n+10, 10)}
	}
	if x, err := strconv.ParseFloat(expected, 64); err == nil && math.Abs(x) < math.MaxInt32 {
		_, decimals, _ := strings.Cut(expected, ".")
		write := func(x float64) string { return strconv.FormatFloat(x, 'f', len(decimals), 64) }
		return []string{write(x - 1), write(x + 1), write(x + 10)}
	}
	if len(expected) == 1 && strings.Contains("ABCDEFGH", expected) {
		others := slices.DeleteFunc([]string{"A", "B", "C", "D"}, func(letter string) bool { return letter == expected })
		return others[:3]
	}
	return []string{"wrong answer 1", "wrong answer 2", "wrong answer 3"}
}
