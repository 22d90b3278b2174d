package outbound

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetryAfter bounds the delay that a server can ask for.
const longestRetryAfter = 24 * time.Hour

// RetryAfter parses the header Retry-After: seconds, or a date, which is compared with the Date of
// the server if it sends one.
func RetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(header.Get("Retry-After"))
	var wait time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) { // then it is the greatest
		wait = time.Duration(min(seconds, uint64(longestRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		if date, err := http.ParseTime(header.Get("Date")); err == nil {
			now = date
		}
		wait = at.Sub(now)
	} else {
		return 0, false
	}
	return min(max(wait, time.Second), longestRetryAfter), true
}
