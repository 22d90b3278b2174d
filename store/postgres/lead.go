package postgres

import "github.com/holdfastdev/holdfast/store"

// lead returns the statements of a beat that try to get or keep the leader lease, and tell whether the node has it. The lease
// is one row on the database's clock: it is taken when it has expired, which ends the epoch, and prolonged by whoever has
// it. Two nodes can think that they lead only as long as one of them has not looked at its clock.
func (s *Store) lead(params store.BeatParams, beat *store.Beat) []statement {
	var list []statement
	if ttl := params.LeaderTTL.Microseconds(); ttl > 0 {
		list = append(list, statement{name: "leader_stand", args: []any{params.Node, ttl, s.injected()}})
	}
	return append(list, statement{name: "leader_epoch", args: []any{params.Node, s.injected()}, each: func(r row) error {
		beat.Leader = true
		return r.Scan(&beat.Epoch)
	}})
}
