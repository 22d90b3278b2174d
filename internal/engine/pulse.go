package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// pulses is how a node that leads tells which of the others are dead.
//
// It goes by what it sees itself, and by a clock that nobody sets: a node is dead if no beat of it was seen for as long as DeadAfter.
// The database's clock, by which beats are stamped, may jump; a stamp only tells one beat from the next. And only time counts in
// which this node could have seen a beat: after an outage of the database, or when this process was frozen itself, each gap
// between two of its own beats counts as little more than one beat, so that the others have their time to beat again.
//
// A node that has just begun to lead has seen little. It may go by the stamps, once it has watched for two beats, and for half of
// DeadAfter: if one is older than that, and has not changed while it was watched, its node is dead. So the failure of the leader
// itself is not found later than that of any other node, and one that starts right after an outage does not declare all those dead
// who could not beat. How old a stamp is it tells by its own beats, each of which ties the database's clock to ours: what was
// stamped before the clock jumped is as old as the beat after which it jumped.
type pulses struct {
	beat, deadAfter time.Duration

	own   []moment      // our own beats that got through, of the last DeadAfter and some more
	led   time.Duration // what was watched since we lead
	nodes map[int64]*pulse
}

// moment is one of our beats: its stamp, and when it was answered by the monotonic clock.
type moment struct{ at, seen time.Time }

// pulse is what was seen of one node.
type pulse struct {
	at      time.Time     // the stamp of its last beat
	silence time.Duration // watched since that was first seen
	seen    bool          // in the last answer
}

// see takes in the answer to a beat that got through at the given moment, and returns the nodes that are dead.
func (p *pulses) see(now time.Time, b store.Beat) (dead []store.NodeBeat) {
	watched := p.note(moment{b.At, now})
	if !b.Leader {
		p.led, p.nodes = 0, nil
		return nil
	}
	if p.nodes == nil {
		p.nodes, watched = map[int64]*pulse{}, 0
	}
	p.led += watched
	for _, n := range b.Nodes {
		was := p.nodes[n.Node]
		switch {
		case was == nil || !was.at.Equal(n.At):
			was = &pulse{at: n.At}
			p.nodes[n.Node] = was
		default:
			was.silence += watched
		}
		was.seen = true
		if p.isDead(was, now) {
			dead = append(dead, n)
		}
	}
	for id, n := range p.nodes {
		if !n.seen {
			delete(p.nodes, id)
		}
		n.seen = false
	}
	return dead
}

// note adds a beat of ours, and returns how much of the time since the one before counts.
func (p *pulses) note(m moment) (watched time.Duration) {
	if n := len(p.own); n > 0 {
		watched = min(m.seen.Sub(p.own[n-1].seen), p.beat+p.beat/2)
	}
	for len(p.own) > 2 && m.seen.Sub(p.own[1].seen) > 2*p.deadAfter {
		p.own = p.own[1:]
	}
	p.own = append(p.own, m)
	return watched
}

func (p *pulses) isDead(n *pulse, now time.Time) bool {
	if n.silence >= p.deadAfter {
		return true
	}
	return p.led < p.deadAfter && n.silence >= max(2*p.beat, p.deadAfter/2) && p.age(n.at, now) >= p.deadAfter
}

// age is how long ago a beat was stamped, or less, by what our own beats tell of the database's clock.
func (p *pulses) age(stamp, now time.Time) time.Duration {
	for i := len(p.own) - 1; i > 0; i-- {
		from, to := p.own[i-1], p.own[i]
		jumped := (to.at.Sub(from.at) - to.seen.Sub(from.seen)).Abs()
		switch isBetween := !stamp.Before(from.at) && !stamp.After(to.at); {
		case jumped < p.beat/2 && isBetween:
			return now.Sub(to.seen) + to.at.Sub(stamp) - jumped
		case jumped >= p.beat/2 && (isBetween || to.at.Before(from.at)):
			return now.Sub(to.seen) // any moment of that time may have had this stamp
		}
	}
	if first := p.own[0]; stamp.Before(first.at) {
		return now.Sub(first.seen) + first.at.Sub(stamp)
	}
	return 0
}

// lost is called when this node was declared dead: as the one that joins again it has seen nothing of the others yet.
func (p *pulses) lost() { p.nodes, p.led = nil, 0 }
