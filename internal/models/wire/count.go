package wire

import "strconv"

// MaxCount is the largest number of tokens that is believed.
const MaxCount = 1e12

// UnknownCount is a Count that cannot be read or believed.
const UnknownCount Count = -1

// Count is a number of tokens as services write it, also as 10.0. Any other JSON is
// UnknownCount and never an error: no answer is lost over its usage.
type Count int

// UnmarshalJSON reads any JSON value.
func (c *Count) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	*c = UnknownCount
	n, err := strconv.ParseFloat(string(data), 64)
	if err == nil && n >= 0 && n <= MaxCount && n == float64(int(n)) {
		*c = Count(n)
	}
	return nil
}

// Sum returns the sum of two counts, which is unknown if one of them is.
func Sum(a, b Count) int {
	if min(a, b) < 0 {
		return int(UnknownCount)
	}
	return int(a + b)
}
