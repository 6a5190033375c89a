package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// seed begins the random numbers of latencies, so that each run has the same ones.
const seed = 16

// latency is how long the server takes to answer: Median always, or log-normally
// distributed around it where Sigma is above 0.
type latency struct {
	Median time.Duration
	Sigma  float64
}

// lognormal begins the text of a latency that varies.
const lognormal = "lognormal-"

// String returns the latency as it stands in the server's paths: 500ms or lognormal-300ms-1.
func (l latency) String() string {
	if l.Sigma == 0 {
		return l.Median.String()
	}
	return fmt.Sprint(lognormal, l.Median, "-", l.Sigma)
}

func parseLatency(text string) (latency, error) {
	median, sigma, varies := strings.Cut(strings.TrimPrefix(text, lognormal), "-")
	if varies != strings.HasPrefix(text, lognormal) {
		return latency{}, fmt.Errorf("latency %q: use 500ms or %s300ms-1", text, lognormal)
	}
	var l latency
	var err error
	if l.Median, err = time.ParseDuration(median); err == nil && varies {
		l.Sigma, err = strconv.ParseFloat(sigma, 64)
	}
	if err != nil {
		return latency{}, fmt.Errorf("latency %q: %w", text, err)
	}
	return l, nil
}

// of returns the latency of a request by its number in a run.
func (l latency) of(number int) time.Duration {
	if l.Sigma == 0 {
		return l.Median
	}
	z := rand.New(rand.NewPCG(seed, uint64(number))).NormFloat64()
	return time.Duration(float64(l.Median) * math.Exp(l.Sigma*z))
}
