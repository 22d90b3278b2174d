package cron

import (
	"math/bits"
	"strings"
	"time"
)

// The sentences are about the times that are meant, not about how they are written: where H is
// spread to is said, and 0,15,30,45 is every 15 minutes.

func (e *every) words() string {
	text := "every " + spoken(e.interval)
	if e.anchor.UnixMicro() != 0 {
		text += " from " + e.anchor.Format("2006-01-02 15:04:05.999999") + " in " + e.zone.String()
	}
	return text
}

func (o *once) words() string {
	return "once, on " + o.at.Format("2006-01-02 at 15:04:05.999999") + " in " + o.at.Location().String()
}

// spoken is a duration in words.
func spoken(d time.Duration) string {
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch {
		case d == unit.d:
			return unit.name
		case d%unit.d == 0 && d/unit.d < 200:
			return cardinal(int(d/unit.d)) + " " + unit.name + "s"
		}
	}
	return d.String()
}

func (e *expression) words() string {
	text, at := e.dayWords(), e.clockTimes()
	switch {
	case at != "":
		text += " at " + at
	case text == "every day":
		text = e.timeWords()
	default:
		text += ", " + e.timeWords()
	}
	text += " in " + e.clock.zone.String()
	if e.fixed && e.skip {
		text += ", left out where the clock is set forward over it"
	}
	return text
}

// clockTimes are the times of the day, if they are few.
func (e *expression) clockTimes() string {
	const few = 6
	if bits.OnesCount64(e.hour)*bits.OnesCount64(e.minute)*bits.OnesCount64(e.second) > few {
		return ""
	}
	var times []string
	for since, ok := e.nextInDay(0); ok; since, ok = e.nextInDay(since + 1) {
		times = append(times, face(since, 0))
		if since == daySeconds-1 {
			break
		}
	}
	return listed(times, "and")
}

// timeWords say at which times of the day, where they are many.
func (e *expression) timeWords() string {
	if e.second == 1 {
		return e.minuteWords()
	}
	return values(e.second, "second") + e.minutesOf()
}

// values are all values of a round of 60, or some.
func values(set uint64, name string) string {
	step, first, even := evenly(set, 60)
	switch {
	case even && step == 1:
		return "every " + name
	case even && first == 0:
		return "every " + cardinal(step) + " " + name + "s"
	case even && step < 30:
		return "every " + cardinal(step) + " " + name + "s from " + name + " " + cardinal(first)
	case bits.OnesCount64(set) == 1:
		return "at " + name + " " + cardinal(bits.TrailingZeros64(set))
	default:
		return "at " + name + "s " + listed(named(set, cardinal), "and")
	}
}

// minutesOf says in which minutes the seconds are.
func (e *expression) minutesOf() string {
	step, first, even := evenly(e.minute, 60)
	switch {
	case even && step == 1 && bits.OnesCount64(e.second) == 1:
		return " of every minute" + e.hoursIn()
	case even && step == 1:
		return e.hoursIn()
	case even && step < 30 && first == 0:
		return " of every " + ordinal(step) + " minute" + e.hoursIn()
	case bits.OnesCount64(e.minute) == 1:
		return " of minute " + cardinal(bits.TrailingZeros64(e.minute)) + e.hoursOf()
	default:
		return " of minutes " + listed(named(e.minute, cardinal), "and") + e.hoursOf()
	}
}

// minuteWords say at which minutes, on the whole.
func (e *expression) minuteWords() string {
	step, first, even := evenly(e.hour, 24)
	if e.minute == 1 {
		switch {
		case even && step == 1:
			return "every hour"
		case even && first == 0:
			return "every " + cardinal(step) + " hours"
		case even:
			return "every " + cardinal(step) + " hours from " + hourBegins(first)
		case isRange(e.hour):
			return "every hour from " + hourBegins(bits.TrailingZeros64(e.hour)) + " to " + hourBegins(bits.Len64(e.hour)-1)
		}
	}
	text := values(e.minute, "minute")
	if strings.HasPrefix(text, "every") {
		return text + e.hoursIn()
	}
	return text + e.hoursOf()
}

func isRange(set uint64) bool {
	return bits.OnesCount64(set) == bits.Len64(set)-bits.TrailingZeros64(set)
}

// hoursIn says in which hours something goes on; all are not said.
func (e *expression) hoursIn() string {
	name, all := e.hours()
	switch {
	case all:
		return ""
	case isRange(e.hour):
		return " " + name
	default:
		return " in " + name
	}
}

// hoursOf says of which hours something is a part.
func (e *expression) hoursOf() string {
	name, all := e.hours()
	switch {
	case all:
		return " of every hour"
	case isRange(e.hour):
		return " of every hour " + name
	default:
		return " of " + name
	}
}

func (e *expression) hours() (name string, all bool) {
	step, first, even := evenly(e.hour, 24)
	low, high := bits.TrailingZeros64(e.hour), bits.Len64(e.hour)-1
	switch {
	case even && step == 1:
		return "", true
	case isRange(e.hour):
		return "from " + hourBegins(low) + " to " + face(int64(high)*3600+3540, 0), false
	case even && step < 12:
		return "every " + ordinal(step) + " hour from " + hourBegins(first), false
	default:
		return "the hours " + listed(named(e.hour, cardinal), "and"), false
	}
}
