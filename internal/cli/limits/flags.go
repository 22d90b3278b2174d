package limits

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/limit"
)

// none is the value of a flag that takes a bound away.
const none = "none"

// rateFlags are the flags of a rate.
type rateFlags struct{ rate, burst string }

func (f *rateFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.rate, "rate", "", "let at most so many jobs start in a time, such as `50/s`, 100/min or 5/10s; none: any number")
	flags.StringVar(&f.burst, "burst", "", "let `N` of them start at once; default: those of a tenth of a second")
}

// options are what the flags say.
func (f *rateFlags) options(given func(string) bool) (opts []limit.Option, err error) {
	if given("rate") {
		opt, err := rateOf(f.rate)
		if err != nil {
			return nil, err
		}
		opts = append(opts, opt)
	}
	if given("burst") {
		n, err := strconv.Atoi(f.burst)
		switch {
		case f.burst == "default":
			n = 0
		case err != nil || n < 1:
			return nil, arg.Usagef("--burst %s is neither a number, which is at least 1, nor default", output.OneLine(f.burst))
		case f.rate == none:
			return nil, arg.Usagef("--burst goes with a rate, and --rate is none")
		}
		opts = append(opts, limit.Burst(n))
	}
	return opts, nil
}

// rateOf reads a rate.
func rateOf(text string) (limit.Option, error) {
	if text == none {
		return limit.NoRate(), nil
	}
	jobs, per, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(jobs)
	if !ok || err != nil || n < 0 {
		return nil, arg.Usagef("--rate %s is not a number of jobs and a time, such as 50/s, nor none", output.OneLine(text))
	}
	units := map[string]time.Duration{
		"s": time.Second, "sec": time.Second, "m": time.Minute, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}
	unit, known := units[per]
	if !known {
		if unit, err = time.ParseDuration(per); err != nil || unit <= 0 {
			return nil, arg.Usagef("--rate %s: %s is no time, such as s, min, h, d or 10s", output.OneLine(text), output.OneLine(per))
		}
	}
	return limit.Rate(n, unit), nil
}

// fairShare is the flag that divides slots evenly among nodes.
type fairShare bool

func (f *fairShare) add(flags *pflag.FlagSet) {
	flags.BoolVar((*bool)(f), "fair-share", false, "divide the slots evenly among the nodes that want some; =false: not any more")
}

// option is what the flag says, nil if it was not given.
func (f *fairShare) option(given func(string) bool) []limit.Option {
	switch {
	case !given("fair-share"):
		return nil
	case bool(*f):
		return []limit.Option{limit.FairShare()}
	}
	return []limit.Option{limit.NoFairShare()}
}

// capacity is the option of a flag that takes a number of jobs or none.
func capacity(flag, text string) (limit.Option, error) {
	if text == none {
		return limit.NoCapacity(), nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return nil, arg.Usagef("%s %s is neither a number nor none", flag, output.OneLine(text))
	case n < 0:
		return nil, arg.Usagef("%s %d is negative", flag, n)
	}
	return limit.Capacity(n), nil
}
