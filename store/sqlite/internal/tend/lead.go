package tend

import (
	"math"

	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// leaderName is the one lease there is: that of maintenance.
const leaderName = "maintenance"

// leaderLease says who leads, and until when. The row stays when no node does, so that the epoch
// only grows.
type leaderLease struct {
	node, epoch, expiresAt int64

	ttl int64 // how long it was when it was taken or kept; 0: the program did not say
}

// over reports whether the lease is over. One that ends later than it could if the clock had gone
// on is, too: else no node would lead until the clock has caught up, after it was set back.
func (l leaderLease) over(now int64) bool {
	return l.expiresAt <= now || l.ttl > 0 && l.expiresAt-now > l.ttl
}

// leader returns the lease, which is over if there never was one.
func leader(t *core.Tx) (leaderLease, error) {
	s := t.Stmt("leader")
	s.BindText(leaderName)
	found, err := s.Next()
	if err != nil || !found {
		return leaderLease{expiresAt: math.MinInt64}, err
	}
	defer s.Done()
	return leaderLease{s.ReadInt(), s.ReadInt(), s.ReadInt(), db.ReadOptInt(s)}, nil
}

// lead tells whether a node leads. With a ttl it also keeps the lease, or takes it if it is over;
// the epoch grows whenever it was over in between, even if the same node takes it again.
func lead(t *core.Tx, node, ttl int64) (leads bool, epoch int64, err error) {
	lease, err := leader(t)
	if err != nil {
		return false, 0, err
	}
	switch {
	case ttl <= 0:
	case lease.over(t.Now):
		lease = leaderLease{node, lease.epoch + 1, t.Now + ttl, ttl}
		err = putLeader(t, lease)
	case lease.node == node:
		lease.expiresAt, lease.ttl = t.Now+ttl, ttl
		err = putLeader(t, lease)
	}
	if err != nil || lease.node != node || lease.over(t.Now) {
		return false, 0, err
	}
	return true, lease.epoch, nil
}

func putLeader(t *core.Tx, lease leaderLease) error {
	s := t.Stmt("leader_put")
	s.BindText(leaderName)
	s.BindInt(lease.node)
	s.BindInt(lease.epoch)
	s.BindInt(lease.expiresAt)
	s.BindInt(lease.ttl)
	return db.Exec(s)
}

// resign ends the lease of a node that ended, so that another one can lead at once. It stays over
// when the clock is set back.
func resign(t *core.Tx, node int64) error {
	s := t.Stmt("leader_resign")
	s.BindInt(math.MinInt64)
	s.BindInt(node)
	return db.Exec(s)
}
