package cron

import (
	"math/bits"
	"time"
)

// days are the days that an expression means.
type days struct {
	months   uint64 // all as bits
	dom, dow uint64 // of the month, and of the week with Sunday as 0

	last        uint64 // days before the last one of the month
	nearest     uint64 // days of the month to whose nearest weekday it is
	lastWeekday bool
	nth         [7]uint64 // of each weekday, the how manyth in the month
	lastOf      uint64    // weekdays, the last in the month

	both bool // a day must be in both fields
}

func daysOf(dom, months, dow field, seed string) days {
	d := days{
		months: months.values(month, seed),
		dom:    dom.values(dayOfMonth, seed),
		dow:    dow.values(dayOfWeek, seed),
		both:   dom.isStarred() || dow.isStarred(),
	}
	for _, it := range dom {
		switch it.form {
		case lastDay:
			d.last |= 1 << it.lo
		case nearest:
			d.nearest |= 1 << it.lo
		case lastWeekday:
			d.lastWeekday = true
		default: // in dom
		}
	}
	for _, it := range dow {
		switch it.form {
		case nth:
			d.nth[it.lo] |= 1 << it.hi
		case lastOf:
			d.lastOf |= 1 << it.lo
		default: // in dow
		}
	}
	return d
}

// in returns the days, as bits, of a month with so many days that begins with that weekday.
func (d *days) in(begins time.Weekday, length int) uint64 {
	all := uint64(1)<<(length+1) - 2
	dom := d.dom | d.domSpecial(int(begins), length)
	dow := d.ofWeek(int(begins), length)
	if d.both {
		return dom & dow & all
	}
	return (dom | dow) & all
}

// domSpecial are the days of L and W.
func (d *days) domSpecial(begins, length int) (set uint64) {
	for left := d.last; left != 0; left &= left - 1 {
		if day := length - bits.TrailingZeros64(left); day > 0 {
			set |= 1 << day
		}
	}
	for left := d.nearest; left != 0; left &= left - 1 {
		if day := bits.TrailingZeros64(left); day <= length {
			set |= 1 << weekdayNear(day, begins, length)
		}
	}
	if d.lastWeekday {
		set |= 1 << weekdayNear(length, begins, length)
	}
	return set
}

// weekdayNear returns the day from Monday to Friday that is nearest to a day, in the same month.
func weekdayNear(day, begins, length int) int {
	switch time.Weekday((begins + day - 1) % 7) {
	case time.Saturday:
		if day == 1 {
			return 3
		}
		return day - 1
	case time.Sunday:
		if day == length {
			return day - 2
		}
		return day + 1
	default:
		return day
	}
}

// ofWeek are the days of the weekday's field.
func (d *days) ofWeek(begins, length int) (set uint64) {
	const weekly = 1<<1 | 1<<8 | 1<<15 | 1<<22 | 1<<29
	for weekday := range 7 {
		first := (weekday-begins+7)%7 + 1
		if d.dow>>weekday&1 != 0 {
			set |= weekly << (first - 1)
		}
		for left := d.nth[weekday]; left != 0; left &= left - 1 {
			set |= 1 << (first + 7*(bits.TrailingZeros64(left)-1))
		}
		if d.lastOf>>weekday&1 != 0 {
			set |= 1 << (first + (length-first)/7*7)
		}
	}
	return set
}

// everCome reports whether there is a month with such a day. In the calendar a month of each length
// begins with each weekday at some time.
func (d *days) everCome() bool {
	for m := time.January; m <= time.December; m++ {
		for _, year := range []int{2000, 2001} { // with and without a leap day
			length := monthLength(year, m)
			for begins := time.Sunday; d.months>>m&1 != 0 && begins <= time.Saturday; begins++ {
				if d.in(begins, length) != 0 {
					return true
				}
			}
		}
	}
	return false
}

func monthLength(year int, m time.Month) int {
	return time.Date(year, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
