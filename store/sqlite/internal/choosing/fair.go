package choosing

import (
	"cmp"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// team are the lanes whose jobs take turns by their fair keys: those of one queue and priority that
// count in one demand.
type team struct {
	shards []*shard // in the order of their names
	line   []*Head  // whose turn it is, one after the other
}

// shard are the lanes of one shard, which may have several kinds.
type shard struct {
	name  string
	heads []*Head
}

// teamsOf makes one head of the lanes of each team, with as many places as the claim may take; see
// store.FairShards. The others stay as they are.
func teamsOf(t *core.Tx, lanes []*Head, params store.ClaimParams) ([]*Head, error) {
	type name struct {
		demand   *demand
		queue    int64
		priority int
	}
	var merged []*Head
	byName := map[name]*Head{}
	for _, h := range lanes {
		if h.Lane.Shard == "" {
			merged = append(merged, h)
			continue
		}
		of := name{h.demand, h.Lane.Queue, h.Lane.Priority}
		all := byName[of]
		if all == nil {
			all = &Head{Lane: h.Lane, demand: h.demand, ended: true, team: &team{}}
			byName[of] = all
			merged = append(merged, all)
		}
		all.team.add(h)
	}
	for _, all := range byName {
		if err := all.lineUp(t, all.demand.atMost(params.Limit), params.Turn()); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

func (t *team) add(h *Head) {
	at, found := slices.BinarySearchFunc(t.shards, h.Lane.Shard, func(s *shard, name string) int { return cmp.Compare(s.name, name) })
	if !found {
		t.shards = slices.Insert(t.shards, at, &shard{name: h.Lane.Shard})
	}
	t.shards[at].heads = append(t.shards[at].heads, h)
}

// lineUp finds the first jobs of the turn, no more than most, and sorts their places.
func (h *Head) lineUp(t *core.Tx, most int, turn int64) error {
	n := len(h.team.shards)
	first := int(turn * int64(n) >> 32)
	for before := -1; len(h.team.line) < most && before < len(h.team.line); {
		before = len(h.team.line)
		for i := range n {
			from, err := h.team.shards[(first+i)%n].next(t, most, &h.rows)
			if err != nil {
				return err
			}
			if from == nil {
				continue
			}
			if h.team.line = append(h.team.line, from); len(h.team.line) == most {
				break
			}
		}
	}
	slices.SortFunc(h.rows, func(a, b pointerKey) int {
		if a.isBefore(b) {
			return -1
		}
		return 1
	})
	return nil
}

// next moves the first place of a shard to the others, and returns whose it is; nil if there is
// none.
func (s *shard) next(t *core.Tx, most int, places *[]pointerKey) (*Head, error) {
	var best *Head
	for _, h := range s.heads {
		if len(h.rows) > 0 && (best == nil || h.rows[0].isBefore(best.rows[0])) {
			best = h
		}
	}
	if best == nil {
		return nil, nil //nolint:nilnil // as it says
	}
	*places = append(*places, best.rows[0])
	if best.rows = best.rows[1:]; len(best.rows) == 0 {
		return best, readOn(t, best, most)
	}
	return best, nil
}

// taken is the lane from which a place of h is taken: h itself, or whose turn it is.
func (h *Head) taken() *Head {
	if h.team == nil {
		return h
	}
	first := h.team.line[0]
	h.team.line = h.team.line[1:]
	return first
}
