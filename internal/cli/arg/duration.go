package arg

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/store"
)

// ReadDurations makes every duration flag use parseDuration.
func ReadDurations(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "duration" {
			f.Value = durationValue{f.Value}
			if f.DefValue == "0s" {
				f.DefValue = "0" // the help leaves it out
			}
		}
	})
	for _, c := range cmd.Commands() {
		ReadDurations(c)
	}
}

// durationValue is the value of a duration flag.
type durationValue struct{ pflag.Value }

func (v durationValue) Set(text string) error {
	if text == "" {
		return errors.New("empty") // FlagError explains it
	}
	d, err := parseDuration(text)
	if err != nil {
		return err
	}
	return v.Value.Set(d.String())
}

var (
	days     = regexp.MustCompile(`^([+-]?)(\d+)d(.*)$`)
	noUnit   = regexp.MustCompile(`^[+-]?\d+(\.\d+)?$`)
	mostDays = int64(math.MaxInt64 / (24 * time.Hour))
)

// parseDuration parses a duration as Go writes it, such as 1h30m, and also with days in front, such
// as 7d or 1d12h: a day is 24 hours.
func parseDuration(text string) (time.Duration, error) {
	rest, whole, negative := strings.TrimSpace(text), time.Duration(0), false
	if m := days.FindStringSubmatch(rest); m != nil {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil || n > mostDays {
			return 0, Usagef("%q is too long", text)
		}
		negative = m[1] == "-"
		whole, rest = time.Duration(n)*24*time.Hour, cmp.Or(m[3], "0s")
		if !strings.ContainsAny(rest[:1], "0123456789.") {
			return 0, notADuration(text)
		}
	}
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil && noUnit.MatchString(rest):
		return 0, Usagef("%q has no unit; write %ss, %sm or %sh", text, rest, rest, rest)
	case err != nil:
		return 0, notADuration(text)
	case whole > 0 && d > math.MaxInt64-whole:
		return 0, Usagef("%q is too long", text)
	}
	if negative {
		return -(whole + d), nil
	}
	return whole + d, nil
}

// ParseDuration reads a duration, such as 1h30m or 7d, as flags do.
func ParseDuration(text string) (time.Duration, error) { return parseDuration(text) }

// ParseKeep parses for how long something is kept: a duration, or forever.
func ParseKeep(text string) (time.Duration, error) {
	if text == forever {
		return store.KeepForever, nil
	}
	d, err := parseDuration(text)
	if err == nil && d < 0 {
		return d, Usagef("%s is negative; to keep it for ever, write %s", text, forever)
	}
	if err != nil {
		return d, fmt.Errorf("%w; to keep it for ever, write %s", err, forever)
	}
	return d, nil
}

// forever is the word for a time that does not end.
const forever = "forever"

func notADuration(text string) error {
	return Usagef("%q is not a duration such as 90s, 1h30m or 7d", text)
}
