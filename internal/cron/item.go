package cron

import "strconv"

// form is how an item of a field is written.
type form uint8

const (
	star        form = iota // *, */step
	blank                   // ?
	span                    // lo, lo-hi, lo-hi/step
	open                    // lo/step: up to the end
	spread                  // H, H/step
	spreadIn                // H(lo-hi), H(lo-hi)/step
	lastDay                 // L, L-lo
	nearest                 // loW
	lastWeekday             // LW
	nth                     // lo#hi
	lastOf                  // loL
)

// item is one of the alternatives in a field.
type item struct {
	form   form
	lo, hi int
	step   int // 0: none
}

// String is the item as it is stored.
func (i item) String() string {
	lo, hi := strconv.Itoa(i.lo), strconv.Itoa(i.hi)
	text := ""
	switch i.form {
	case star:
		text = "*"
	case blank:
		text = "?"
	case span:
		text = lo
		if i.lo != i.hi {
			text += "-" + hi
		}
	case open:
		text = lo
	case spread:
		text = "H"
	case spreadIn:
		text = "H(" + lo + "-" + hi + ")"
	case lastDay:
		text = "L"
		if i.lo > 0 {
			text += "-" + lo
		}
	case nearest:
		text = lo + "W"
	case lastWeekday:
		text = "LW"
	case nth:
		text = lo + "#" + hi
	case lastOf:
		text = lo + "L"
	}
	if i.step > 0 {
		text += "/" + strconv.Itoa(i.step)
	}
	return text
}

// isOpen reports whether the item goes on from the beginning to the end of its field: with one in
// the minute or the hour, an expression is an interval.
func (i item) isOpen() bool {
	return i.form == star || i.form == open || i.form == spread && i.step > 0
}

// values are the values that the item means by themselves, as bits; those that depend on the month
// have none.
func (i item) values(u unit, seed string) uint64 {
	lo, hi := units[u].lo, units[u].hi
	switch i.form {
	case star, blank:
		return steps(lo, hi, i.step)
	case span:
		return steps(i.lo, i.hi, i.step)
	case open:
		return steps(i.lo, hi, i.step)
	case spread, spreadIn:
		if i.form == spreadIn {
			lo, hi = i.lo, i.hi
		} else if u == dayOfMonth {
			hi = 28 // so that it comes in every month
		}
		n := hi - lo + 1
		h := hash(seed, uint64(u))
		if i.step == 0 {
			return 1 << (lo + int(below(h, uint64(n))))
		}
		return steps(lo+int(below(h, uint64(min(i.step, n)))), hi, i.step)
	default:
		return 0
	}
}

// steps are every step-th value from lo to hi, as bits.
func steps(lo, hi, step int) (values uint64) {
	for v := lo; v <= hi; v += max(step, 1) {
		values |= 1 << v
	}
	return values
}
