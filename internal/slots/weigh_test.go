package slots

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// TestFill: what is free is divided as even as it can be, by weight.
func TestFill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		free   int
		stakes []stake
		want   []int
	}{
		{10, nil, []int{}},
		{0, []stake{{1, 0, 9}}, []int{0}},
		{10, []stake{{1, 0, 3}, {1, 0, 4}}, []int{3, 4}},
		{10, []stake{{1, 0, 9}, {1, 0, 9}}, []int{5, 5}},
		{10, []stake{{3, 0, 99}, {2, 0, 99}}, []int{6, 4}},
		{10, []stake{{3, 0, 2}, {2, 0, 99}}, []int{2, 8}},
		{6, []stake{{1, 4, 99}, {1, 0, 99}}, []int{1, 5}},
		{2, []stake{{1, 4, 99}, {1, 0, 99}}, []int{0, 2}}, // nothing is taken away
		{1, []stake{{1, 0, 9}, {1, 0, 9}, {1, 0, 9}}, []int{1, 0, 0}},
		{1, []stake{{1, 1, 9}, {1, 0, 0}, {2, 1, 9}}, []int{0, 0, 1}},
	} {
		if got := fill(c.free, c.stakes); !slices.Equal(got, c.want) {
			t.Errorf("%d to %v: %v, want %v", c.free, c.stakes, got, c.want)
		}
	}
}

// TestFillIsEven: no slot that one has been given would be for another one that weighs more and
// wants more; none is left, and none is given twice.
func TestFillIsEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stakes := make([]stake, rapid.IntRange(1, 6).Draw(t, "stakes"))
		wanted := 0
		for i := range stakes {
			stakes[i] = stake{rapid.IntRange(1, 9).Draw(t, "weight"), rapid.IntRange(0, 30).Draw(t, "holds"), rapid.IntRange(0, 50).Draw(t, "wants")}
			wanted += stakes[i].wants
		}
		free := rapid.IntRange(0, 150).Draw(t, "free")
		given := fill(free, stakes)
		sum := 0
		for i, n := range given {
			if sum += n; n < 0 || n > stakes[i].wants {
				t.Fatalf("%d to %v: %v", free, stakes, given)
			}
			for j, m := range given {
				// What i was given last would have been better with j.
				has, would := stakes[i].holds+n, stakes[j].holds+m+1
				if n > 0 && m < stakes[j].wants && would*stakes[i].weight < has*stakes[j].weight {
					t.Fatalf("%d to %v: %v: one of %d would be for %d", free, stakes, given, i, j)
				}
			}
		}
		if sum != min(free, wanted) {
			t.Fatalf("%d to %v: %v are %d", free, stakes, given, sum)
		}
	})
}

// crew is a node whose queues have shares, with the jobs that wait in its database.
type crew struct {
	*bed
	names   []string
	waiting map[string]int
	runs    map[string][]store.Claimed
}

func newCrew(t *testing.T, size int, queues []store.QueueDemand, shares map[string]Share) *crew {
	c := &crew{bed: newBed(t, size), waiting: map[string]int{}, runs: map[string][]store.Claimed{}}
	c.Slots = New(Config{Size: size, Queues: queues, Shares: shares, MaxAside: 10})
	for _, q := range queues {
		c.names = append(c.names, q.Name)
	}
	return c
}

// work claims until there is nothing more to be had. The first queues have the oldest jobs.
func (c *crew) work() {
	for range 100 {
		if !c.Demand(c.now).Likely {
			return
		}
		d := c.Claim(c.now)
		var jobs []store.Claimed
		for _, name := range c.names {
			n := min(d.Limit-len(jobs), c.waiting[name], d.Queues[store.DemandFor(d.Queues, name, "")].Limit)
			if n > 0 {
				c.waiting[name] -= n
				jobs = append(jobs, c.claimed(name, n)...)
			}
		}
		c.Learn(d, d.Limit, jobs)
		for _, j := range c.Admit(jobs) {
			c.runs[j.Job.Queue] = append(c.runs[j.Job.Queue], j)
		}
	}
	c.t.Fatal("it claims for ever")
}

// endOne ends a job of a queue, whose slot may go to another one.
func (c *crew) endOne(queue string, i int) {
	j := c.runs[queue][i]
	c.runs[queue] = slices.Delete(c.runs[queue], i, i+1)
	if next, ok := c.end(j); ok {
		c.runs[next.Job.Queue] = append(c.runs[next.Job.Queue], next)
	}
}

func (c *crew) enqueue(queue string, n int) {
	c.waiting[queue] += n
	c.Heard(queue, c.now)
}

// TestSharesHold: whatever comes and ends, no more jobs run than there are slots; a queue with jobs
// has as many as are kept for it; and no slot that is not kept is free while a job waits that may
// use it.
func TestSharesHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 12).Draw(rt, "size")
		var queues []store.QueueDemand
		shares := map[string]Share{}
		kept := 0
		for i := range rapid.IntRange(1, 4).Draw(rt, "queues") {
			name := fmt.Sprint("q", i)
			q := queue(name, rapid.IntRange(0, size).Draw(rt, "limit"))
			of := Share{rapid.IntRange(0, (size-kept)/2).Draw(rt, "min"), rapid.IntRange(0, 4).Draw(rt, "weight")}
			if q.Limit > 0 {
				of.Min = min(of.Min, q.Limit)
			}
			kept += of.Min
			queues, shares[name] = append(queues, q), of
		}
		c := newCrew(t, size, queues, shares)
		check := func() {
			used, unmet := 0, 0
			for _, name := range c.names {
				q := c.named[name]
				if used += len(c.runs[name]); len(c.runs[name]) != q.running || q.running > q.limit {
					rt.Fatalf("%d jobs of %s run, of at most %d; the account says %d", len(c.runs[name]), name, q.limit, q.running)
				}
				unmet += max(q.min-q.running, 0)
			}
			if used+unmet > size || used != c.used || unmet != c.unmet {
				rt.Fatalf("of %d slots %d are used and %d kept; the account says %d and %d", size, used, unmet, c.used, c.unmet)
			}
			for _, name := range c.names {
				q := c.named[name]
				waits := c.waiting[name] + len(q.buffer)
				if waits > 0 && q.running < q.min {
					rt.Fatalf("%d jobs of %s wait, and %d run, of at least %d", waits, name, q.running, q.min)
				}
				if waits > 0 && q.running < q.limit && used+unmet < size {
					rt.Fatalf("%d jobs of %s wait, and of %d slots %d are used and %d kept", waits, name, size, used, unmet)
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {
				c.work()
				check()
			},
			"enqueue": func(t *rapid.T) {
				c.enqueue(rapid.SampledFrom(c.names).Draw(t, "queue"), rapid.IntRange(1, 2*size).Draw(t, "jobs"))
			},
			"end": func(t *rapid.T) {
				name := rapid.SampledFrom(c.names).Draw(t, "queue")
				if n := len(c.runs[name]); n > 0 {
					c.endOne(name, rapid.IntRange(0, n-1).Draw(t, "run"))
				}
			},
			"time": func(t *rapid.T) {
				c.now = c.now.Add(time.Duration(rapid.IntRange(1, 50).Draw(t, "ms")) * time.Millisecond)
			},
			"reserve": func(t *rapid.T) { // jobs that start with their enqueue
				name := rapid.SampledFrom(c.names).Draw(t, "queue")
				var jobs []*store.Enqueue
				for range rapid.IntRange(1, size).Draw(t, "jobs") {
					jobs = append(jobs, &store.Enqueue{Job: store.Job{Queue: name}})
				}
				if !c.MayStart(c.now) {
					return
				}
				n := c.Reserve(jobs, c.now)
				start := c.AdmitReserved(jobs[:n], c.claimed(name, n))
				if len(start) != n && len(c.named[name].buffer) > 0 && c.pace(name) == 0 {
					t.Fatalf("%d were reserved, and %d have a slot", n, len(start))
				}
				c.runs[name] = append(c.runs[name], start...)
			},
		})
	})
}

// pace is how many jobs of a queue are expected to end soon, for which some may be prefetched.
func (c *crew) pace(name string) int { return c.named[name].pace.ahead(c.now) }

// TestSharesAreEven: as slots become free, the queues come to have those that are kept for none by
// their weight, whichever has the oldest jobs.
func TestSharesAreEven(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 20, []store.QueueDemand{queue("bulk", 0), queue("mail", 0), queue("rare", 0)},
		map[string]Share{"mail": {Min: 2, Weight: 3}, "rare": {Min: 3}})
	c.enqueue("bulk", 1000)
	c.work()
	if n := len(c.runs["bulk"]); n != 15 {
		t.Fatalf("%d jobs of the only queue with jobs run, want all but 5", n)
	}
	c.enqueue("mail", 1000)
	c.work()
	if n := len(c.runs["mail"]); n != 2 {
		t.Fatalf("%d jobs of mail run at once, want those for which slots are kept", n)
	}
	for range 100 {
		c.now = c.now.Add(time.Second) // long jobs
		for _, name := range []string{"bulk", "mail"} {
			if len(c.runs[name]) > 0 {
				c.endOne(name, 0)
			}
		}
		c.work()
	}
	// Of 15 a quarter and three, and two more that are kept for it.
	if bulk, mail := len(c.runs["bulk"]), len(c.runs["mail"]); bulk < 3 || bulk > 4 || mail < 13 || mail > 14 || bulk+mail != 17 {
		t.Errorf("%d jobs of bulk and %d of mail run, want 4 and 13", bulk, mail)
	}
}

// TestSharesOfWaitingJobs: of jobs that were claimed together those get the slots whose queues have
// less, by their weight, and first those for which slots are kept.
func TestSharesOfWaitingJobs(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 9, []store.QueueDemand{queue("bulk", 0), queue("mail", 0), queue("kept", 0)},
		map[string]Share{"mail": {Weight: 3}, "kept": {Min: 1}})
	started := map[string]int{}
	for _, j := range c.Admit(slices.Concat(c.claimed("bulk", 9), c.claimed("mail", 9), c.claimed("kept", 1))) {
		started[j.Job.Queue]++
	}
	if started["bulk"] != 2 || started["mail"] != 6 || started["kept"] != 1 {
		t.Errorf("%v have started", started)
	}
}

// TestSharesInDemand: no more is claimed of a queue than there are slots that are not kept for
// others; a queue without jobs is looked at for what is left.
func TestSharesInDemand(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 10, []store.QueueDemand{queue("a", 0), queue("b", 7), queue("c", 0)}, map[string]Share{"a": {Min: 4}, "c": {Weight: 2}})
	c.empty()
	c.Heard("b", c.now)
	c.expect("with jobs of b", 10, 4, 6, 0)
	c.Heard("c", c.now)
	c.expect("with jobs of b and c", 10, 4, 2, 4)
	c.Admit(c.claimed("b", 2))
	c.expect("while two run", 8, 4, 0, 4)
	c.SetQuiet(true)
	c.expect("of a quiet node", 0, 0, 0, 0)
}
