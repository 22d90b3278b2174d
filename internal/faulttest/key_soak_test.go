//go:build soak

package faulttest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestSixtyFourSendOrStart: of 64 who send or start at once one starts the job, and it receives 64
// numbers.
func TestSixtyFourSendOrStart(t *testing.T) {
	t.Parallel()
	onSenders(t, func(t *testing.T, s *senders) {
		const many, rounds = 64, 5
		for round := range rounds {
			sent := s.send(collects.Item(many, holdfast.Key(fmt.Sprint("order ", round))), 0, many)
			job, err := collects.Find(t.Context(), s.node, fmt.Sprint("order ", round))
			if err != nil {
				t.Fatal(err)
			}
			started := 0
			for _, one := range sent {
				if one.Started {
					started++
				}
				if one.Job != job.ID || one.Differs || one.Duplicate {
					t.Fatalf("%+v, but job %s has the key", one, job.ID)
				}
			}
			if started != 1 {
				t.Errorf("%d have started the job", started)
			}
			got, err := job.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			for i := range many {
				if len(got) != many || got[i] != i {
					t.Fatalf("it has received %d", got)
				}
			}
		}
	})
}

// TestSendOrStartWhileItEnds: jobs end while others send to them. Each number is at one job, and a
// job that is started is so by one.
func TestSendOrStartWhileItEnds(t *testing.T) {
	t.Parallel()
	onSenders(t, func(t *testing.T, s *senders) {
		const many, rounds = 16, 24
		at, jobs, started := map[int]holdfast.ID{}, map[holdfast.ID]bool{}, map[holdfast.ID]int{}
		for round := range rounds {
			for n, one := range s.send(drains.Item(0, holdfast.Key("k")), round*many, many) {
				at[n], jobs[one.Job] = one.Job, true
				if one.Started {
					started[one.Job]++
				}
			}
		}
		found, unread := 0, 0
		for id := range jobs {
			ends(t, s.node, id, store.Completed)
			if started[id] != 1 {
				t.Errorf("%d have started job %s", started[id], id)
			}
			journal, err := s.node.Journal(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range journal.Messages {
				var n int
				if _, err := fmt.Sscan(string(m.Data), &n); err != nil || at[n] != id {
					t.Errorf("job %s has message %s, whose sender knows of job %s, %v", id, m.Data, at[n], err)
				}
				found++
				if m.Unread {
					unread++
				}
			}
		}
		if found != many*rounds {
			t.Errorf("%d messages, want %d", found, many*rounds)
		}
		if len(jobs) < 2 {
			t.Error("no job has ended meanwhile")
		}
		t.Logf("%d jobs; %d of %d messages came too late to be received", len(jobs), unread, found)
	})
}
