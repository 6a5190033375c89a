package heavy_test

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/system/heavy"
)

func TestLargePatternsAreRefused(t *testing.T) {
	t.Parallel()
	for expr, isFit := range map[string]bool{
		`^[a-z]{1,64}@(example|test)\.org$`:           true,
		"(?:" + strings.Repeat("a", 60) + "){1000}":   false,
		"(?:(?:[a-y]{30}b){30}c?){11}":                false,
		strings.Repeat("x", heavy.MostInstructions+1): false,
		"(" + strings.Repeat("(?:a|b)c{9}", 40) + ")": true,
	} {
		if _, err := heavy.Pattern(expr); (err == nil) != isFit {
			t.Errorf("%.40s: %v", expr, err)
		}
	}
	if _, err := heavy.Pattern("("); err == nil {
		t.Error("a pattern that is not complete is taken")
	}
}
