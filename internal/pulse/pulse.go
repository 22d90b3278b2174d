// Package pulse is the failure detector of a node that leads: it decides by the answers to the
// node's own beats which of the others are dead.
//
// Of ours, it imports only store.
package pulse

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Detector is the failure detector of a leader: it tells which of the other nodes are dead.
//
// It relies on what it observes and on the monotonic clock: a node is dead if its stamp has not
// changed for DeadAfter. Beats are stamped by the database's clock, which may jump, so a stamp only
// tells one beat from the next. Only time in which this node could have seen a beat counts: after
// an outage of the database, or when this process was frozen, each gap between two of its own beats
// counts as one and a half beat intervals at most, so that the other nodes have time to beat again.
//
// A new leader has observed little. It may use the stamps once it has watched for two beats and
// half of DeadAfter: a node whose stamp is older than DeadAfter, and did not change meanwhile, is
// dead. So the failure of the leader itself is found as early as that of any other node, and a
// leader that starts right after an outage does not declare all nodes dead that could not beat. It
// computes the age of a stamp from its own beats, each of which relates the database's clock to the
// monotonic one: a stamp from before a jump is as old as the beat after the jump.
type Detector struct {
	beat, deadAfter time.Duration

	own   []moment      // own successful beats of the last DeadAfter and some more
	led   time.Duration // how long it has watched since it leads
	nodes map[int64]*pulse
}

// NewDetector returns the failure detector of a node that beats at an interval, among nodes that
// are dead after being silent for so long.
func NewDetector(beat, deadAfter time.Duration) Detector {
	return Detector{beat: beat, deadAfter: deadAfter}
}

// moment is one of the node's own beats: its stamp, and when its answer arrived by the monotonic
// clock.
type moment struct{ at, seen time.Time }

// pulse is what was observed of one node.
type pulse struct {
	at      time.Time     // the stamp of its last beat
	silence time.Duration // watched time since that stamp was first seen
	seen    bool          // in the last answer
	beaten  bool          // since it was first seen
	dead    bool          // as the last answer has told
}

// See evaluates the answer to a successful beat, and returns the nodes that are dead.
func (p *Detector) See(now time.Time, b store.Beat) (dead []store.NodeBeat) {
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
			was = &pulse{at: n.At, beaten: was != nil}
			p.nodes[n.Node] = was
		default:
			was.silence += watched
		}
		was.seen = true
		if was.dead = p.isDead(was, now); was.dead {
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

// note adds an own beat, and returns how much of the time since the previous one counts.
func (p *Detector) note(m moment) (watched time.Duration) {
	if n := len(p.own); n > 0 {
		watched = min(m.seen.Sub(p.own[n-1].seen), p.beat+p.beat/2)
	}
	for len(p.own) > 2 && m.seen.Sub(p.own[1].seen) > 2*p.deadAfter {
		p.own = p.own[1:]
	}
	p.own = append(p.own, m)
	return watched
}

func (p *Detector) isDead(n *pulse, now time.Time) bool {
	if n.silence >= p.deadAfter {
		return true
	}
	return p.led < p.deadAfter && n.silence >= max(2*p.beat, p.deadAfter/2) && p.age(n.at, now) >= p.deadAfter
}

// age is a lower bound of the age of a stamp, computed from the own beats.
func (p *Detector) age(stamp, now time.Time) time.Duration {
	for i := len(p.own) - 1; i > 0; i-- {
		from, to := p.own[i-1], p.own[i]
		jumped := (to.at.Sub(from.at) - to.seen.Sub(from.seen)).Abs()
		switch isBetween := !stamp.Before(from.at) && !stamp.After(to.at); {
		case jumped < p.beat/2 && isBetween:
			return now.Sub(to.seen) + to.at.Sub(stamp) - jumped
		case jumped >= p.beat/2 && (isBetween || to.at.Before(from.at)):
			return now.Sub(to.seen) // the clock jumped: the stamp may be from any moment of that interval
		}
	}
	if first := p.own[0]; stamp.Before(first.at) {
		return now.Sub(first.seen) + first.at.Sub(stamp)
	}
	return 0
}

// Doubtful is how many nodes of the last answer are neither dead nor known to live, since they have
// not been watched for long enough: a node lives that has beaten while it was watched.
func (p *Detector) Doubtful() (n int) {
	for _, node := range p.nodes {
		if !node.beaten && !node.dead {
			n++
		}
	}
	return n
}

// Lost is called when this node was declared dead: after it has joined again it must observe the
// others from scratch.
func (p *Detector) Lost() { p.nodes, p.led = nil, 0 }
