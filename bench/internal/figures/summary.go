package figures

import "slices"

// Measure is what a scenario is about: the figure by which systems are compared.
type Measure struct {
	Figure string `json:"figure"`
	Unit   string `json:"unit"`
	Less   bool   `json:"less_is_better"`
}

// Row is what all rounds of a system in a scenario gave.
type Row struct {
	System  string
	Samples []Sample // by round
}

// values of one figure, by round; rounds without it are left out.
func (r Row) values(figure string) []float64 {
	var values []float64
	for _, s := range r.Samples {
		if v, ok := s.Figures[figure]; ok {
			values = append(values, v)
		}
	}
	return values
}

// Spread is the median of a figure and its bounds.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Spread of a figure; ok is false if no round has it.
func (r Row) Spread(figure string) (s Spread, ok bool) {
	values := r.values(figure)
	if len(values) == 0 {
		return Spread{}, false
	}
	return Spread{Median: Median(values), Low: slices.Min(values), High: slices.Max(values)}, true
}

// Ratio is how many times better the first row is than the second: the median of the ratios of the
// rounds that both have.
func Ratio(m Measure, ours, theirs Row) (ratio float64, ok bool) {
	var ratios []float64
	for round := range min(len(ours.Samples), len(theirs.Samples)) {
		a, hasA := ours.Samples[round].Figures[m.Figure]
		b, hasB := theirs.Samples[round].Figures[m.Figure]
		if m.Less {
			a, b = b, a
		}
		if hasA && hasB && b > 0 {
			ratios = append(ratios, a/b)
		}
	}
	if len(ratios) == 0 {
		return 0, false
	}
	return Median(ratios), true
}
