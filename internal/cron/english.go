package cron

import (
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// face is what the clock shows, with the date unless it is that of another wall.
func face(wall, sameAs int64) string {
	t := time.Unix(wall, 0).UTC()
	text := t.Format("15:04")
	if t.Second() != 0 {
		text = t.Format(time.TimeOnly)
	}
	if day, _ := split(wall); day*daySeconds > sameAs || sameAs >= (day+1)*daySeconds {
		text = date(wall) + " " + text
	}
	return text
}

func date(wall int64) string { return time.Unix(wall, 0).UTC().Format(time.DateOnly) }

// listed joins words: "a", "a and b", "a, b and c".
func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// named lists values by their names, three or more in a row as "a to c".
func named(values uint64, name func(int) string) (words []string) {
	for values != 0 {
		low := bits.TrailingZeros64(values)
		n := bits.TrailingZeros64(^(values >> low))
		if n < 3 {
			n = 1
			words = append(words, name(low))
		} else {
			words = append(words, name(low)+" to "+name(low+n-1))
		}
		values &^= (1<<n - 1) << low
	}
	return words
}

// cardinal is a number as it is.
func cardinal(n int) string { return strconv.Itoa(n) }

// ordinal is a number with its ending.
func ordinal(n int) string {
	ending := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			ending = "st"
		case 2:
			ending = "nd"
		case 3:
			ending = "rd"
		}
	}
	return strconv.Itoa(n) + ending
}

func weekdayName(n int) string { return time.Weekday(n).String() }

func monthName(n int) string { return time.Month(n).String() }

// hourBegins is an hour as the clock shows its beginning.
func hourBegins(n int) string { return face(int64(n)*3600, 0) }

// evenly returns by how much the values differ, and the first, if they go evenly around a round of
// so many.
func evenly(values uint64, round int) (step, first int, ok bool) {
	first = bits.TrailingZeros64(values)
	n := bits.OnesCount64(values)
	if n < 2 || round%n != 0 {
		return 0, 0, false
	}
	step = round / n
	return step, first, steps(first, round-1, step) == values && first < step
}
