package play

import "hash/fnv"

// Dice make the choices of one step. They depend on the step's own number, so that to leave out
// another step changes none of them.
type Dice struct {
	Seed uint64
	n    uint64
}

// NewDice returns the dice of a step.
func NewDice(seed uint64) *Dice { return &Dice{Seed: seed} }

// Next returns a random number.
func (d *Dice) Next() uint64 {
	d.n++
	return Mix(d.Seed + d.n*0x9e3779b97f4a7c15)
}

// Mix is the finalizer of SplitMix64.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Aside returns dice for a choice beside the others, which stay as they are: so traces that were
// kept mean the same when a step can do more than it could.
func (d *Dice) Aside(what string) *Dice {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what))
	return NewDice(Mix(d.Seed ^ h.Sum64()))
}

// Below returns a number from 0 to n-1.
func (d *Dice) Below(n int) int { return int(d.Next() % uint64(n)) }

// Chance is true so many times of a hundred.
func (d *Dice) Chance(percent int) bool { return d.Below(100) < percent }

// Among returns one of a few values.
func Among[T any](d *Dice, values ...T) T { return values[d.Below(len(values))] }

// Named is what can be chosen, by a name that stays the same when other steps are left out.
type Named interface{ Name() uint64 }

// Choose returns one of those that are there: the one whose name, mixed with a number of the step,
// is the largest. So to leave out a step that brought another one changes the choice only if it was
// that one (rendezvous hashing, Thaler and Ravishankar 1996).
func Choose[T Named](d *Dice, from []T, fits func(T) bool) (chosen T, found bool) {
	salt, most := d.Next(), uint64(0)
	for _, one := range from {
		if fits != nil && !fits(one) {
			continue
		}
		if weight := Mix(salt ^ one.Name()); !found || weight > most {
			chosen, most, found = one, weight, true
		}
	}
	return chosen, found
}

// Key returns a text that is not drawn again.
func (d *Dice) Key() string {
	const digits = "0123456789abcdef"
	text := make([]byte, 12)
	for i, n := 0, d.Next(); i < len(text); i, n = i+1, n>>4 {
		text[i] = digits[n&15]
	}
	return string(text)
}
