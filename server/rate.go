package server

import (
	"fmt"
	"math"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/store"
)

// maxRate is how many requests a second a limit may let in.
const maxRate = 100_000

// rateOf is the limit of options.
func rateOf(o *Options) (guard.Rate, error) {
	switch {
	case o.RateLimit == 0 && o.RateBurst != 0:
		return guard.Rate{}, fmt.Errorf("%w: Options.RateBurst needs RateLimit", store.ErrInvalid)
	case o.RateLimit == 0:
		return guard.Rate{}, nil
	case !(o.RateLimit > 0 && o.RateLimit <= maxRate):
		return guard.Rate{}, fmt.Errorf("%w: Options.RateLimit %v is not a number of requests a second up to %d", store.ErrInvalid,
			o.RateLimit, maxRate)
	case o.RateBurst < 0 || o.RateBurst > maxRate:
		return guard.Rate{}, fmt.Errorf("%w: Options.RateBurst %d is not from 1 to %d", store.ErrInvalid, o.RateBurst, maxRate)
	}
	burst := o.RateBurst
	if burst == 0 {
		burst = max(int(math.Ceil(o.RateLimit)), 1)
	}
	period := time.Duration(math.Round(1e6/o.RateLimit)) * time.Microsecond
	if period > maxPeriod {
		return guard.Rate{}, fmt.Errorf("%w: Options.RateLimit %v is less than a request a day", store.ErrInvalid, o.RateLimit)
	}
	return guard.Rate{Period: period, Burst: burst}, nil
}

// maxPeriod is how far apart the requests of a limit may be.
const maxPeriod = 24 * time.Hour
