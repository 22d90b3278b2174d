package sqlite

import (
	"math"
)

// leaderName is the one lease there is: that of maintenance.
const leaderName = "maintenance"

// leaderLease says who leads, and until when. The row stays when nobody does, so that the epoch only grows.
type leaderLease struct {
	node, epoch, expiresAt int64

	ttl int64 // how long it was when it was taken or kept; 0: the program did not say
}

// over reports whether the lease is over. One that ends later than it could if the clock had gone
// on is, too: else nobody would lead until the clock has caught up, after it was set back.
func (l leaderLease) over(now int64) bool {
	return l.expiresAt <= now || l.ttl > 0 && l.expiresAt-now > l.ttl
}

// leader returns the lease, which is over if there never was one.
func (t *tx) leader() (leaderLease, error) {
	s := t.stmt("leader")
	s.bindText(leaderName)
	found, err := s.next()
	if err != nil || !found {
		return leaderLease{expiresAt: math.MinInt64}, err
	}
	defer s.done()
	return leaderLease{s.readInt(), s.readInt(), s.readInt(), readOptInt(s)}, nil
}

// lead tells whether a node leads. With a ttl it also keeps the lease, or takes it if it is over; the epoch grows
// whenever it was over in between, even if the same node takes it again.
func (t *tx) lead(node, ttl int64) (leads bool, epoch int64, err error) {
	lease, err := t.leader()
	if err != nil {
		return false, 0, err
	}
	switch {
	case ttl <= 0:
	case lease.over(t.now):
		lease = leaderLease{node, lease.epoch + 1, t.now + ttl, ttl}
		err = t.putLeader(lease)
	case lease.node == node:
		lease.expiresAt, lease.ttl = t.now+ttl, ttl
		err = t.putLeader(lease)
	}
	if err != nil || lease.node != node || lease.over(t.now) {
		return false, 0, err
	}
	return true, lease.epoch, nil
}

func (t *tx) putLeader(lease leaderLease) error {
	s := t.stmt("leader_put")
	s.bindText(leaderName)
	s.bindInt(lease.node)
	s.bindInt(lease.epoch)
	s.bindInt(lease.expiresAt)
	s.bindInt(lease.ttl)
	return exec(s)
}

// resign ends the lease of a node that ended, so that another one can lead at once. It stays over
// when the clock is set back.
func (t *tx) resign(node int64) error {
	s := t.stmt("leader_resign")
	s.bindInt(math.MinInt64)
	s.bindInt(node)
	return exec(s)
}
