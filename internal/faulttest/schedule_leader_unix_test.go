//go:build soak && unix

package faulttest

import (
	"fmt"
	"testing"
	"time"
)

// ringers are processes that ring bells, by the names of their nodes.
type ringers struct {
	t     *testing.T
	b     *bells
	dsn   string
	alive map[string]*worker
	count int
}

// add starts one more.
func (r *ringers) add() {
	r.t.Helper()
	r.count++
	name := fmt.Sprint("ringer ", r.count)
	r.alive[name] = startWorker(r.t, workerConfig{
		Role: "bells", Name: name, Database: r.dsn, Beat: clockBeat, Dead: 2 * time.Second,
	})
}

// leading waits until one leads that is not the one given, and has decided about something.
func (r *ringers) leading(limit time.Duration, but string) (name string, leads bool) {
	r.t.Helper()
	leads = comesTrue(limit, func() bool {
		name = leader(r.t.Context(), r.b.hf)
		return name != but && r.alive[name] != nil
	})
	return name, leads
}

// TestLeaderOfSchedulesDies kills the process that leads again and again, and freezes it until
// another one leads, while schedules fire each second. It goes on then with what it has read and
// decided. No second is lost, none fires twice.
func TestLeaderOfSchedulesDies(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const kills, freezes, nodes = 4, 3, 3
		hf := db.open(t)
		b := newBells(t, hf)
		r := &ringers{t: t, b: b, dsn: db.dsn, alive: map[string]*worker{}}
		for range nodes {
			r.add()
		}
		b.hangAll()
		b.ring()
		random := random(t)
		lead := func() string {
			name, ok := r.leading(patience, "")
			if !ok {
				t.Fatalf("not within %v: a node leads", patience)
			}
			linger(t.Context(), time.Duration(random.IntN(1000))*time.Millisecond) // at any moment of a second
			return name
		}
		for range kills {
			name := lead()
			r.alive[name].Kill()
			delete(r.alive, name)
			r.add()
			b.ring()
		}
		for frozen, tries := 0, 0; frozen < freezes; tries++ {
			if tries == 3*freezes {
				t.Fatal("it was frozen within a transaction that all others need each time")
			}
			name := lead()
			if err := r.alive[name].Freeze(); err != nil {
				t.Fatal(err)
			}
			// Unless it keeps all others from writing.
			if _, ok := r.leading(10*time.Second, name); ok {
				frozen++
			}
			if err := r.alive[name].Thaw(); err != nil {
				t.Fatal(err)
			}
			b.ring()
		}
		b.verify()
	})
}
