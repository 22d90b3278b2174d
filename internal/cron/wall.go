package cron

import (
	"math/bits"
	"time"
)

// nextWall returns the first wall of the expression from one on, if it is not after the last.
func (e *expression) nextWall(from, last int64) (int64, bool) {
	day, since := split(from)
	if e.isDay(day) {
		if since, ok := e.nextInDay(since); ok {
			wall := day*daySeconds + since
			return wall, wall <= last
		}
	}
	lastDay, _ := split(last)
	day, ok := e.nextDay(day+1, lastDay)
	if !ok {
		return 0, false
	}
	since, _ = e.nextInDay(0)
	wall := day*daySeconds + since
	return wall, wall <= last
}

// prevWall returns the last wall of the expression up to one, if it is not before the first.
func (e *expression) prevWall(from, first int64) (int64, bool) {
	day, since := split(from)
	if e.isDay(day) {
		if since, ok := e.prevInDay(since); ok {
			wall := day*daySeconds + since
			return wall, wall >= first
		}
	}
	firstDay, _ := split(first)
	day, ok := e.prevDay(day-1, firstDay)
	if !ok {
		return 0, false
	}
	since, _ = e.prevInDay(daySeconds - 1)
	wall := day*daySeconds + since
	return wall, wall >= first
}

// aMonth is a month, with the day since 1970 that is before its first.
type aMonth struct {
	year   int
	month  time.Month
	before int64
	length int
}

// monthOf returns the month of a day since 1970, and the day of the month.
func monthOf(day int64) (m aMonth, ofMonth int) {
	year, month, ofMonth := time.Unix(day*daySeconds, 0).UTC().Date()
	return aMonth{year, month, day - int64(ofMonth), monthLength(year, month)}, ofMonth
}

// in returns the days of a month, as bits.
func (e *expression) in(m aMonth) uint64 {
	if e.days.months>>m.month&1 == 0 {
		return 0
	}
	begins := (int(m.before%7) + 12) % 7 // 1970 began with a Thursday
	return e.days.in(time.Weekday(begins), m.length)
}

func (e *expression) isDay(day int64) bool {
	m, ofMonth := monthOf(day)
	return e.in(m)>>ofMonth&1 != 0
}

// nextDay returns the first day of the expression from one on, if it is not after the last.
func (e *expression) nextDay(day, last int64) (int64, bool) {
	for day <= last {
		m, ofMonth := monthOf(day)
		if left := e.in(m) >> ofMonth; left != 0 {
			day += int64(bits.TrailingZeros64(left))
			return day, day <= last
		}
		day = m.before + int64(m.length) + 1
	}
	return 0, false
}

// prevDay returns the last day of the expression up to one, if it is not before the first.
func (e *expression) prevDay(day, first int64) (int64, bool) {
	for day >= first {
		m, ofMonth := monthOf(day)
		if left := e.in(m) & (1<<(ofMonth+1) - 1); left != 0 {
			day = m.before + int64(bits.Len64(left)-1)
			return day, day >= first
		}
		day = m.before
	}
	return 0, false
}

// nextInDay returns the first second of a day from one on.
func (e *expression) nextInDay(since int64) (int64, bool) {
	h, m, s := int(since/3600), int(since/60%60), int(since%60)
	if e.hour>>h&1 != 0 {
		if e.minute>>m&1 != 0 {
			if s, ok := bitFrom(e.second, s); ok {
				return second3(h, m, s), true
			}
		}
		if m, ok := bitFrom(e.minute, m+1); ok {
			return second3(h, m, bits.TrailingZeros64(e.second)), true
		}
	}
	h, ok := bitFrom(e.hour, h+1)
	return second3(h, bits.TrailingZeros64(e.minute), bits.TrailingZeros64(e.second)), ok
}

// prevInDay returns the last second of a day up to one.
func (e *expression) prevInDay(since int64) (int64, bool) {
	h, m, s := int(since/3600), int(since/60%60), int(since%60)
	if e.hour>>h&1 != 0 {
		if e.minute>>m&1 != 0 {
			if s, ok := bitUpTo(e.second, s); ok {
				return second3(h, m, s), true
			}
		}
		if m, ok := bitUpTo(e.minute, m-1); ok {
			return second3(h, m, bits.Len64(e.second)-1), true
		}
	}
	h, ok := bitUpTo(e.hour, h-1)
	return second3(h, bits.Len64(e.minute)-1, bits.Len64(e.second)-1), ok
}

func second3(h, m, s int) int64 { return int64(h)*3600 + int64(m)*60 + int64(s) }

// bitFrom returns the lowest bit that is set from one on.
func bitFrom(set uint64, bit int) (int, bool) {
	left := set >> bit
	return bit + bits.TrailingZeros64(left), left != 0
}

// bitUpTo returns the highest bit that is set up to one, which may be -1.
func bitUpTo(set uint64, bit int) (int, bool) {
	left := set & (1<<(bit+1) - 1)
	return bits.Len64(left) - 1, left != 0
}
