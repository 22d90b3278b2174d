package simulate

import "hash/fnv"

// dice make the choices of one step. They depend on the step's own number, so that to leave out
// another step changes none of them.
type dice struct{ seed, n uint64 }

// next returns a random number.
func (d *dice) next() uint64 {
	d.n++
	return mix(d.seed + d.n*0x9e3779b97f4a7c15)
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// aside returns dice for a choice beside the others, which stay as they are: so traces that were
// kept mean the same when a step can do more than it could.
func (d *dice) aside(what string) *dice {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what))
	return &dice{seed: mix(d.seed ^ h.Sum64())}
}

// below returns a number from 0 to n-1.
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

func (d *dice) chance(percent int) bool { return d.below(100) < percent }

// among returns one of a few values.
func among[T any](d *dice, values ...T) T { return values[d.below(len(values))] }

// named is what can be chosen, by a name that stays the same when other steps are left out.
type named interface{ name() uint64 }

// choose returns one of those that are there: the one whose name, mixed with a number of the step,
// is the largest. So to leave out a step that brought another one changes the choice only if it was
// that one (rendezvous hashing, Thaler and Ravishankar 1996).
func choose[T named](d *dice, from []T, fits func(T) bool) (chosen T, found bool) {
	salt, most := d.next(), uint64(0)
	for _, one := range from {
		if fits != nil && !fits(one) {
			continue
		}
		if weight := mix(salt ^ one.name()); !found || weight > most {
			chosen, most, found = one, weight, true
		}
	}
	return chosen, found
}

// key returns a text that is not drawn again.
func (d *dice) key() string {
	const digits = "0123456789abcdef"
	text := make([]byte, 12)
	for i, n := 0, d.next(); i < len(text); i, n = i+1, n>>4 {
		text[i] = digits[n&15]
	}
	return string(text)
}
