package crashtest

import (
	"math/rand/v2"
)

// draw draws the workers that are killed at once: seldom all of them.
func draw(random *rand.Rand, workers int) []int {
	places := random.Perm(workers)
	switch random.IntN(8) {
	case 0:
		return places
	case 1:
		return places[:2]
	}
	return places[:1]
}
