package cron

import (
	"slices"
	"strconv"
	"strings"
)

// unit is which field of an expression it is.
type unit uint8

const (
	second unit = iota
	minute
	hour
	dayOfMonth
	month
	dayOfWeek
)

var units = [...]struct {
	name   string
	lo, hi int
	names  []string // of the values from lo
	want   string
}{
	second:     {name: "second", hi: 59, want: "want 0 to 59, *, a-b, a,b, */n or H"},
	minute:     {name: "minute", hi: 59, want: "want 0 to 59, *, a-b, a,b, */n or H"},
	hour:       {name: "hour", hi: 23, want: "want 0 to 23, *, a-b, a,b, */n or H"},
	dayOfMonth: {name: "day of the month", lo: 1, hi: 31, want: "want 1 to 31, *, ?, a-b, a,b, */n, H, L, L-3, 15W or LW"},
	month: {
		name: "month", lo: 1, hi: 12, want: "want 1 to 12, JAN to DEC, *, a-b, a,b, */n or H",
		names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"},
	},
	dayOfWeek: {
		name: "weekday", hi: 6, want: "want 0 to 7 (Sunday is both), SUN to SAT, *, ?, a-b, a,b, */n, H, FRIL or MON#2",
		names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"},
	},
}

// field is a field of an expression: one item or several, in the order in which they were written.
type field []item

func (f field) String() string {
	texts := make([]string, len(f))
	for i, it := range f {
		texts[i] = it.String()
	}
	return strings.Join(texts, ",")
}

// values are those that the field means by themselves, as bits.
func (f field) values(u unit, seed string) (values uint64) {
	for _, it := range f {
		values |= it.values(u, seed)
	}
	if u == dayOfWeek {
		values = (values | values>>7) & 0x7f
	}
	return values
}

func (f field) isOpen() bool { return slices.ContainsFunc(f, item.isOpen) }

// isStarred is what decides how two days' fields combine: Vixie's cron looks at how a field begins.
func (f field) isStarred() bool { return f[0].form == star || f[0].form == blank }

func (f field) isSpread() bool {
	return slices.ContainsFunc(f, func(it item) bool { return it.form == spread || it.form == spreadIn })
}

// parseField reads a field in capitals.
func parseField(u unit, text string) (field, error) {
	var f field
	for part := range strings.SplitSeq(text, ",") {
		it, err := parseItem(u, part)
		if err != nil {
			return nil, err
		}
		f = append(f, it)
	}
	if len(f) > 1 && slices.ContainsFunc(f, func(it item) bool { return it.form == blank }) {
		return nil, syntax(units[u].name, text, "? stands alone")
	}
	return f, nil
}

func parseItem(u unit, text string) (item, error) {
	if it, ok := parseDay(u, text); ok {
		return it, nil
	}
	if u == dayOfWeek && text == "L" {
		return item{}, syntax(units[u].name, text, "write SAT for Saturdays, or FRIL for the last Friday of the month")
	}
	base, by, stepped := strings.Cut(text, "/")
	it, err := parseBase(u, base, stepped)
	if err != nil || !stepped {
		return it, err
	}
	most := units[u].hi - units[u].lo
	step, ok := number(by)
	if !ok || step == 0 || it.form == blank {
		return item{}, syntax(units[u].name, text, "want a step from 1 to %d after the slash", most)
	}
	if step > most {
		hint := ""
		if u <= hour {
			hint = "; for every " + by + " " + units[u].name + "s write @every"
		}
		return item{}, syntax(units[u].name, text, "a step starts anew in each round of the field, so it is at most %d%s", most, hint)
	}
	it.step = step
	if step == 1 && (it.form == star || it.form == span) || it.form == span && it.lo == it.hi {
		it.step = 0 // written as it is without
	}
	return it, nil
}

// parseBase reads what is before the slash.
func parseBase(u unit, text string, stepped bool) (item, error) {
	switch {
	case text == "*":
		return item{form: star}, nil
	case text == "?" && (u == dayOfMonth || u == dayOfWeek):
		return item{form: blank}, nil
	case text == "H":
		return item{form: spread}, nil
	}
	inside, inParentheses := strings.CutPrefix(text, "H(")
	if inParentheses {
		inside, inParentheses = strings.CutSuffix(inside, ")")
		if !inParentheses {
			return item{}, syntax(units[u].name, text, "want H(a-b)")
		}
	} else {
		inside = text
	}
	from, to, isRange := strings.Cut(inside, "-")
	lo, ok := u.value(from)
	hi, okHi := lo, isRange || !inParentheses
	if isRange {
		hi, okHi = u.value(to)
	}
	if !ok || !okHi {
		return item{}, syntax(units[u].name, text, "%s", units[u].want)
	}
	if u == dayOfWeek {
		lo, hi = aroundSunday(lo, hi)
	}
	if lo > hi {
		return item{}, syntax(units[u].name, text, "runs backwards; write %d-%d,%d-%d", lo, units[u].hi, units[u].lo, hi)
	}
	it := item{form: span, lo: lo, hi: hi}
	switch {
	case inParentheses:
		it.form = spreadIn
	case stepped && !isRange:
		it.form = open
	}
	return it, nil
}

// aroundSunday makes Sunday 0 where it begins a range or is all of it, and 7 where it ends one.
func aroundSunday(lo, hi int) (from, to int) {
	switch {
	case lo == 7:
		return 0, hi % 7
	case hi == 0 && lo > 0:
		return lo, 7
	}
	return lo, hi
}

// parseDay reads what means a day only together with a month.
func parseDay(u unit, text string) (item, bool) {
	switch {
	case u == dayOfMonth && text == "L":
		return item{form: lastDay}, true
	case u == dayOfMonth && text == "LW":
		return item{form: lastWeekday}, true
	case u == dayOfMonth && strings.HasPrefix(text, "L-"):
		n, ok := number(text[2:])
		return item{form: lastDay, lo: n}, ok && 1 <= n && n <= 30
	case u == dayOfMonth && strings.HasSuffix(text, "W"):
		n, ok := u.value(text[:len(text)-1])
		return item{form: nearest, lo: n}, ok
	case u == dayOfWeek && strings.HasSuffix(text, "L"):
		n, ok := u.value(text[:len(text)-1])
		return item{form: lastOf, lo: n % 7}, ok
	case u == dayOfWeek && strings.Contains(text, "#"):
		day, which, _ := strings.Cut(text, "#")
		n, ok := u.value(day)
		k, okWhich := number(which)
		return item{form: nth, lo: n % 7, hi: k}, ok && okWhich && 1 <= k && k <= 5
	}
	return item{}, false
}

// value reads a number or a name of the field.
func (u unit) value(text string) (int, bool) {
	if i := slices.Index(units[u].names, text); i >= 0 {
		return units[u].lo + i, true
	}
	n, ok := number(text)
	return n, ok && units[u].lo <= n && (n <= units[u].hi || u == dayOfWeek && n == 7)
}

// number reads one to three digits.
func number(text string) (int, bool) {
	if len(text) > 3 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}
