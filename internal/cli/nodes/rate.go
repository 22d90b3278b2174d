package nodes

import (
	"strconv"
	"strings"
)

// The bounds of --rate-limit, in requests a second, and of --rate-burst.
const (
	maxRate  = 100_000
	maxBurst = 100_000
	leastDay = 1.0 / (24 * 60 * 60)
)

// parseRate reads N/s, N/m or N/h as a number for each second.
func parseRate(text string) (perSecond float64, ok bool) {
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	seconds, known := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if err != nil || !known {
		return 0, false
	}
	n /= seconds
	return n, n >= leastDay && n <= maxRate // no number is not
}

// requestRate is the limit on the requests of each caller; the zero value: there is none.
type requestRate struct {
	perSecond float64
	burst     int
}
