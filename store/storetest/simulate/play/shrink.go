package play

// Shrink returns few of the steps that still fail: none of them can be left out, unless to find out
// would take more steps than budget. It leaves out chunks, of half the steps first, and in the end
// single ones: ddmin of Zeller and Hildebrandt (Simplifying and isolating failure-inducing input,
// IEEE Transactions on Software Engineering 28, 2002), with its complements alone, since a single
// chunk that fails by itself is what is left when the others are gone.
func Shrink[S any](steps []S, budget int, fails func([]S) bool) []S {
	for chunks := 2; len(steps) > 1 && budget > 0; {
		size := (len(steps) + chunks - 1) / chunks
		reduced := false
		// From the end on: what came last is often no cause of what came before it.
		for last := len(steps); last > 0 && budget > 0; last -= size {
			first := max(0, last-size)
			rest := make([]S, 0, len(steps)-(last-first))
			rest = append(append(rest, steps[:first]...), steps[last:]...)
			budget -= len(rest)
			if fails(rest) {
				steps, reduced = rest, true
			}
		}
		switch {
		case reduced:
			chunks = max(2, (len(steps)+size-1)/size)
		case size == 1:
			return steps
		default:
			chunks = min(2*chunks, len(steps))
		}
	}
	return steps
}
