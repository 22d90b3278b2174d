package store

import "slices"

// DemandFor returns the place of the demand in which jobs of a kind in a queue count, or -1. The
// kind is as in ClaimParams.Kinds.
func DemandFor(list []QueueDemand, queue, kind string) int {
	for _, d := range demandsFor(queue, kind) {
		if i := slices.IndexFunc(list, func(q QueueDemand) bool { return q.Name == d.Name && q.Kind == d.Kind }); i >= 0 {
			return i
		}
	}
	return -1
}

// demandsFor are the demands in which jobs may count, the narrowest first, without limits.
func demandsFor(queue, kind string) [4]QueueDemand {
	return [...]QueueDemand{{Name: queue, Kind: kind}, {Name: queue}, {Kind: kind}, {}}
}

// Demands finds the demand in which jobs count, as DemandFor does, however many there are of both.
type Demands struct {
	list []QueueDemand
	at   map[QueueDemand]int // without limits; nil if there are few
}

// NewDemands returns the demands of a claim, ready to be looked through.
func NewDemands(list []QueueDemand) Demands {
	if len(list) <= 4 {
		return Demands{list: list}
	}
	at := make(map[QueueDemand]int, len(list))
	for i, q := range slices.Backward(list) {
		at[QueueDemand{Name: q.Name, Kind: q.Kind}] = i
	}
	return Demands{list, at}
}

// For is DemandFor of these demands.
func (d *Demands) For(queue, kind string) int {
	if d.at == nil {
		return DemandFor(d.list, queue, kind)
	}
	for _, q := range demandsFor(queue, kind) {
		if i, ok := d.at[q]; ok {
			return i
		}
	}
	return -1
}
