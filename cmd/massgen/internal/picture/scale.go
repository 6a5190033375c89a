package picture

import (
	"fmt"
	"slices"
	"time"
)

// scale maps times to positions. Rounds are apart by a gap, which has room for the marks at the
// end of one and for the bound of the next.
type scale struct {
	length time.Duration
	bounds []time.Duration // where gaps are, except the one after the end
	width  float64         // without the gaps
	gap    float64
}

// newScale returns a scale over a width. It makes the gaps smaller if they would take more than
// half of it.
func newScale(p Picture, width, gap float64) scale {
	s := scale{length: max(p.Length, time.Millisecond)}
	for _, r := range p.Rounds {
		if r.At > 0 && !slices.Contains(s.bounds, r.At) {
			s.bounds = append(s.bounds, r.At)
		}
	}
	gaps := float64(len(s.bounds) + 1)
	s.gap = min(gap, width/2/gaps)
	s.width = width - s.gap*gaps
	return s
}

func (s scale) at(t time.Duration, gaps int) float64 {
	return s.width*float64(min(t, s.length))/float64(s.length) + s.gap*float64(gaps)
}

// start returns the position of a beginning: after the gap if a round begins at that time.
func (s scale) start(t time.Duration) float64 {
	gaps := 0
	for _, b := range s.bounds {
		if b <= t {
			gaps++
		}
	}
	return s.at(t, gaps)
}

// end returns the position of an end: before the gap if a round begins at that time.
func (s scale) end(t time.Duration) float64 {
	gaps := 0
	for _, b := range s.bounds {
		if b < t {
			gaps++
		}
	}
	return s.at(t, gaps)
}

// ticks returns moments for an axis, at most so many beside the first one.
func (s scale) ticks(most int) []time.Duration {
	step := time.Millisecond
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 10 * time.Hour} {
		for _, factor := range []time.Duration{1, 2, 5} {
			if step = unit * factor; int(s.length/step) <= most {
				return s.every(step)
			}
		}
	}
	return s.every(max(step, s.length/time.Duration(most)))
}

func (s scale) every(step time.Duration) (list []time.Duration) {
	for t := time.Duration(0); t <= s.length; t += step {
		list = append(list, t)
	}
	return list
}

// span returns a length of time in a short form: 0.3 s, 42 s, 3 min 5 s, 2 h 1 min.
func span(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < time.Second && d%(100*time.Millisecond) != 0:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return joined(d/time.Minute, "min", d%time.Minute/time.Second, "s")
	}
	return joined(d/time.Hour, "h", d%time.Hour/time.Minute, "min")
}

func joined(n time.Duration, unit string, rest time.Duration, restUnit string) string {
	if rest == 0 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, rest, restUnit)
}
