package cron

import "math/bits"

const (
	allDays     = 1<<32 - 2
	allWeekdays = 1<<7 - 1
	allMonths   = 1<<13 - 2
)

// dayWords say on which days.
func (e *expression) dayWords() string {
	d := &e.days
	dom, dow := d.domWords(), d.dowWords("every ", "and")
	ofMonths := d.inMonths(" of ", " of every month")
	if d.nth != [7]uint64{} || d.lastOf != 0 { // counted in the month
		dow += ofMonths
	} else {
		dow += d.inMonths(" in ", "")
	}
	allDom, allDow := d.dom == allDays, d.dow == allWeekdays
	switch {
	case allDom && allDow || !d.both && (allDom || allDow):
		return "every day" + d.inMonths(" in ", "")
	case allDow:
		return "on " + dom + ofMonths
	case allDom:
		return dow
	case d.both:
		return "on " + dom + ofMonths + " if it is " + d.dowWords("a ", "or")
	default:
		return "on " + dom + ofMonths + " and " + dow
	}
}

// inMonths names the months, unless they are all.
func (d *days) inMonths(before, all string) string {
	if d.months == allMonths {
		return all
	}
	if isRange(d.months) && bits.OnesCount64(d.months) > 2 && before == " in " {
		before = " from "
	}
	return before + listed(named(d.months, monthName), "and")
}

// domWords name the days of the month's field.
func (d *days) domWords() string {
	var words []string
	if step, first := apart(d.dom); step > 1 {
		words = append(words, "every "+ordinal(step)+" day from the "+ordinal(first))
	} else {
		for _, day := range named(d.dom, ordinal) {
			words = append(words, "the "+day)
		}
	}
	for left := d.nearest; left != 0; left &= left - 1 {
		words = append(words, "the weekday nearest to the "+ordinal(bits.TrailingZeros64(left)))
	}
	for left := d.last &^ 1; left != 0; left &= left - 1 {
		words = append(words, "the "+ordinal(bits.TrailingZeros64(left))+" day before the last")
	}
	if d.lastWeekday {
		words = append(words, "the last weekday")
	}
	if d.last&1 != 0 {
		words = append(words, "the last day")
	}
	return listed(words, "and")
}

// apart returns by how much the days of the month differ, and the first, if they are four at least
// and go evenly up to the end.
func apart(set uint64) (step, first int) {
	first = bits.TrailingZeros64(set)
	if bits.OnesCount64(set) < 4 {
		return 0, first
	}
	step = bits.TrailingZeros64(set>>(first+1)) + 1
	if set != steps(first, 31, step) {
		return 0, first
	}
	return step, first
}

// dowWords name the days of the weekday's field: each such day, and those that are counted.
func (d *days) dowWords(each, last string) string {
	const mondayToFriday = 1<<6 - 2
	var words []string
	if d.dow == mondayToFriday {
		words = append(words, each+"weekday")
	} else {
		for weekday := 1; weekday <= 7; weekday++ { // Sunday last
			if d.dow>>(weekday%7)&1 != 0 {
				words = append(words, weekdayName(weekday%7))
			}
		}
		if len(words) > 0 {
			words[0] = each + words[0]
		}
	}
	before := ""
	if each == "every " {
		before = "on "
	}
	for weekday, which := range d.nth {
		for left := which; left != 0; left &= left - 1 {
			words = append(words, before+"the "+ordinal(bits.TrailingZeros64(left))+" "+weekdayName(weekday))
		}
	}
	for left := d.lastOf; left != 0; left &= left - 1 {
		words = append(words, before+"the last "+weekdayName(bits.TrailingZeros64(left)))
	}
	return listed(words, last)
}
