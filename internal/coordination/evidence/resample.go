package evidence

import (
	"math"
	"slices"
)

// resamples is how often the questions are drawn anew for an interval.
const resamples = 2000

// z is the number of standard deviations within which 95 % of a normal distribution lie.
const z = 1.96

// bootstrap returns the percentile interval of the mean of each series. Each resample draws as many
// questions as there are, with repetition, and is the same for all series.
func bootstrap(draw func(n int) int, series [][]float64) []Interval {
	n := len(series[0])
	drawn := make([]int, n)
	means := make([][]float64, len(series))
	for i := range means {
		means[i] = make([]float64, resamples)
	}
	for b := range resamples {
		clear(drawn)
		for range n {
			drawn[draw(n)]++
		}
		for i, values := range series {
			sum := 0.0
			for q, times := range drawn {
				sum += float64(times) * values[q]
			}
			means[i][b] = sum / float64(n)
		}
	}
	intervals := make([]Interval, len(series))
	for i, list := range means {
		slices.Sort(list)
		intervals[i] = Interval{quantile(list, 0.025), quantile(list, 0.975)}
	}
	return intervals
}

// quantile returns a quantile of a sorted list, between two elements by their distance.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	below := math.Floor(at)
	low, high := sorted[int(below)], sorted[int(math.Ceil(at))]
	return low + (high-low)*(at-below)
}

// spread returns the interval of the mean of values from least to 1. Resamples of equal values all have the same
// mean and say nothing about its error, so equal values have Wilson's interval, of their place in the range.
func spread(values []float64, resampled Interval, least float64) Interval {
	if !isAll(values, values[0]) {
		return resampled
	}
	size := 1 - least
	of := wilson((values[0]-least)/size, len(values))
	return Interval{least + size*of[0], least + size*of[1]}
}

// wilson returns Wilson's interval of a share of n. It has a width also where all or none are right.
func wilson(share float64, n int) Interval {
	size := float64(n)
	middle := (share + z*z/(2*size)) / (1 + z*z/size)
	half := z / (1 + z*z/size) * math.Sqrt(share*(1-share)/size+z*z/(4*size*size))
	switch interval := (Interval{middle - half, middle + half}); share { // without the remainders of the arithmetic
	case 0:
		return Interval{0, interval[1]}
	case 1:
		return Interval{interval[0], 1}
	default:
		return interval
	}
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// meanOf returns the mean of a list, nil for an empty one.
func meanOf(list []float64) *float64 {
	if len(list) == 0 {
		return nil
	}
	return new(mean(list))
}

// deviation returns the standard deviation of a sample, 0 for equal values.
func deviation(list []float64) float64 {
	if isAll(list, list[0]) {
		return 0
	}
	center, sum := mean(list), 0.0
	for _, x := range list {
		sum += (x - center) * (x - center)
	}
	return math.Sqrt(sum / float64(len(list)-1))
}

func minus(a, b []float64) []float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] - b[i]
	}
	return list
}

func isAll(list []float64, x float64) bool {
	return !slices.ContainsFunc(list, func(y float64) bool { return y != x })
}

func asNumber(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
