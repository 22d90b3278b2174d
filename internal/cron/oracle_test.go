package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The oracle knows the rule of the package comment, and nothing of the package: plans are drawn
// together with their texts, and a scan looks at the clock at every instant.

// plan is a schedule as the oracle understands it.
type plan struct {
	text        string
	time        [3]func(int) bool // second, minute, hour
	day         func(time.Time) bool
	fixed, skip bool
}

// isMeant reports whether a wall, given as a time in UTC, is one of the plan's.
func (p *plan) isMeant(wall time.Time) bool {
	return p.time[2](wall.Hour()) && p.time[1](wall.Minute()) && p.time[0](wall.Second()) && p.day(wall)
}

// scan returns the instants in a window at which the plan fires.
func (p *plan) scan(w *window) (fires []int64) {
	low, high := slices.Min(w.walls), slices.Max(w.walls)
	shown := make([]bool, (high-low)/w.tick+1)
	for i, wall := range w.walls {
		fire := p.isMeant(time.Unix(wall, 0).UTC())
		if p.fixed {
			fire = fire && !shown[(wall-low)/w.tick]
			if !p.skip && i > 0 {
				for out := w.walls[i-1] + w.tick; out < wall; out += w.tick { // the clock went over these
					fire = fire || !shown[(out-low)/w.tick] && p.isMeant(time.Unix(out, 0).UTC())
				}
			}
			shown[(wall-low)/w.tick] = true
		}
		if instant := w.start + int64(i)*w.tick; fire && instant >= w.from {
			fires = append(fires, instant)
		}
	}
	return fires
}

// dice draws a number from 0 to n-1.
type dice func(n int) int

// drawPlan draws a schedule that fires often: six fields with seconds, or five.
func drawPlan(d dice, seconds, days bool) *plan {
	p := &plan{skip: d(3) == 0, fixed: true, day: func(time.Time) bool { return true }}
	texts := make([]string, 6)
	for i, n := range []int{60, 60, 24} {
		var open bool
		texts[i], p.time[i], open = drawField(d, 0, n-1)
		p.fixed = p.fixed && (i == 0 || !open)
	}
	if !seconds {
		texts[0], p.time[0] = "", func(s int) bool { return s == 0 }
	}
	texts[3], texts[4], texts[5] = "*", "*", "*"
	if days {
		dom, isDom, domStar := drawDom(d)
		dow, isDow, dowStar := drawDow(d)
		months, isMonth, _ := drawField(d, 1, 12)
		if d(2) == 0 {
			months, isMonth = "*", func(int) bool { return true }
		}
		texts[3], texts[4], texts[5] = dom, months, dow
		p.day = func(t time.Time) bool {
			if domStar || dowStar {
				return isMonth(int(t.Month())) && isDom(t) && isDow(t)
			}
			return isMonth(int(t.Month())) && (isDom(t) || isDow(t))
		}
	}
	p.text = strings.TrimSpace(strings.Join(texts, " "))
	return p
}

// drawField draws an ordinary field, and whether it is open.
func drawField(d dice, lo, hi int) (text string, is func(int) bool, open bool) {
	a := lo + d(hi-lo+1)
	b := a + d(hi-a+1)
	step := 1 + d(hi-lo)
	switch d(8) {
	case 0:
		return "*", func(int) bool { return true }, true
	case 1:
		return fmt.Sprintf("*/%d", step), func(v int) bool { return (v-lo)%step == 0 }, true
	case 2:
		return fmt.Sprintf("%d/%d", a, step), func(v int) bool { return v >= a && (v-a)%step == 0 }, true
	case 3:
		return fmt.Sprintf("%d-%d", a, b), func(v int) bool { return a <= v && v <= b }, false
	case 4:
		return fmt.Sprintf("%d-%d/%d", a, b, step), func(v int) bool { return a <= v && v <= b && (v-a)%step == 0 }, false
	case 5:
		other, isOther, open := drawField(d, lo, hi)
		return fmt.Sprintf("%d,%s", a, other), func(v int) bool { return v == a || isOther(v) }, open
	default:
		return strconv.Itoa(a), func(v int) bool { return v == a }, false
	}
}

func isLastOfMonth(t time.Time) bool { return t.AddDate(0, 0, 1).Month() != t.Month() }

func isWorkday(t time.Time) bool { return t.Weekday() != time.Saturday && t.Weekday() != time.Sunday }

// isNearest reports whether of all workdays of its month a day is the nearest to one.
func isNearest(t time.Time, day int) bool {
	best, distance := 0, 99
	exists := false
	for u := t.AddDate(0, 0, 1-t.Day()); u.Month() == t.Month(); u = u.AddDate(0, 0, 1) {
		exists = exists || u.Day() == day
		if away := max(u.Day()-day, day-u.Day()); isWorkday(u) && away < distance {
			best, distance = u.Day(), away
		}
	}
	return exists && best == t.Day()
}

func drawDom(d dice) (text string, is func(time.Time) bool, starred bool) {
	n := d(31)
	switch d(8) {
	case 0:
		return "L", isLastOfMonth, false
	case 1:
		n = 1 + n%30
		return fmt.Sprintf("L-%d", n), func(t time.Time) bool {
			last := t.AddDate(0, 0, n)
			return last.Month() == t.Month() && isLastOfMonth(last)
		}, false
	case 2:
		return fmt.Sprintf("%dW", n+1), func(t time.Time) bool { return isNearest(t, n+1) }, false
	case 3:
		return "LW", func(t time.Time) bool { return isNearest(t, t.AddDate(0, 1, -t.Day()).Day()) }, false
	case 4:
		return "?", func(time.Time) bool { return true }, true
	}
	text, isDay, _ := drawField(d, 1, 31)
	return text, func(t time.Time) bool { return isDay(t.Day()) }, text[0] == '*'
}

func drawDow(d dice) (text string, is func(time.Time) bool, starred bool) {
	weekday := time.Weekday(d(7))
	name := strings.ToUpper(weekday.String()[:3])
	switch d(6) {
	case 0:
		return name + "L", func(t time.Time) bool { return t.Weekday() == weekday && t.AddDate(0, 0, 7).Month() != t.Month() }, false
	case 1:
		k := 1 + d(5)
		return fmt.Sprintf("%s#%d", name, k), func(t time.Time) bool { return t.Weekday() == weekday && (t.Day()+6)/7 == k }, false
	case 2:
		return "*", func(time.Time) bool { return true }, true
	}
	text, isDay, _ := drawField(d, 0, 6)
	return text, func(t time.Time) bool { return isDay(int(t.Weekday())) }, text[0] == '*'
}
