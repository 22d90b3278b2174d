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
// A node that has just begun to lead has seen little. It may go by the stamps, once it has watched for two beats: if one is older than
// DeadAfter by the database's clock, and has not changed while it was watched, its node is dead. So the failure of the leader itself is not
// found later than that of any other node, and one that starts right after an outage does not declare all those dead who could not beat.
type pulses struct {
	beat, deadAfter time.Duration

	last  time.Time     // of our own beats that got through, by the monotonic clock
	led   time.Duration // what was watched since we lead
	nodes map[int64]*pulse
}

// pulse is what was seen of one node.
type pulse struct {
	at      time.Time     // the stamp of its last beat
	silence time.Duration // watched since that was first seen
	seen    bool          // in the last answer
}

// see takes in the answer to a beat that got through at the given moment, and returns the nodes that are dead.
func (p *pulses) see(now time.Time, b store.Beat) (dead []store.NodeBeat) {
	watched := min(now.Sub(p.last), p.beat+p.beat/2)
	if p.last.IsZero() {
		watched = 0
	}
	p.last = now
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
		if p.isDead(was, b.At) {
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

func (p *pulses) isDead(n *pulse, now time.Time) bool {
	if n.silence >= p.deadAfter {
		return true
	}
	return p.led < p.deadAfter && n.silence >= 2*p.beat && now.Sub(n.at) >= p.deadAfter
}

// lost is called when a beat did not get through: nothing can be said of the others before some have.
func (p *pulses) lost() { p.nodes, p.led = nil, 0 }
