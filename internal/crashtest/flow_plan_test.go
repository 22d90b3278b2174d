package crashtest

import "math/rand/v2"

// flowPlanner makes the plan of a storm.
type flowPlanner struct {
	random *rand.Rand
	last   int          // the last place in the plan
	plan   map[int]task // children included
}

func (p *flowPlanner) chance(percent int) bool { return p.random.IntN(100) < percent }

// next plans n jobs.
func (p *flowPlanner) next(n int) []task {
	tasks := make([]task, n)
	for i := range tasks {
		switch {
		case p.chance(8):
			tasks[i] = p.add(task{Once: true, Millis: p.random.IntN(150), Talks: p.chance(50)})
		case p.chance(20):
			tasks[i] = p.errand()
		case p.chance(3):
			tasks[i] = p.add(task{Contradicts: true})
		default:
			tasks[i] = p.flow(1)
		}
	}
	return tasks
}

// add gives a task its place.
func (p *flowPlanner) add(t task) task {
	p.last++
	t.N = p.last
	p.plan[t.N] = t
	return t
}

func (p *flowPlanner) errand() task {
	t := task{Millis: p.random.IntN(100), Talks: p.chance(50)}
	p.trouble(&t)
	if p.chance(15) {
		t.Snoozes = 1 + p.random.IntN(2)
	}
	return p.add(t)
}

// trouble draws how a task ends that does not simply complete.
func (p *flowPlanner) trouble(t *task) {
	switch {
	case p.chance(12):
		t.Fatal = true
	case p.chance(3):
		t.Waits = true
	case p.chance(20):
		t.Fails = 1 + p.random.IntN(2)
		t.Stale = p.chance(40)
		t.Trips = len(t.Ops) > 1 && p.chance(50)
	}
}

// flow draws a flow. The depth is that of the flows that it may call.
func (p *flowPlanner) flow(depth int) task {
	t := task{Talks: p.chance(60), Listens: p.chance(40)}
	ids := 0
	t.Ops = p.ops(&ids, 2+p.random.IntN(5), depth, true)
	for i := range t.Ops {
		p.words(&t, &t.Ops[i])
	}
	p.trouble(&t)
	if p.chance(15) {
		t.Last = 1 + p.random.IntN(2)
	}
	return p.add(t)
}

// words draws what a flow says around an operation. Only the handler may say something, and what
// compensates, but no strand.
func (p *flowPlanner) words(t *task, o *op) {
	if !t.Talks || o.Do == opStrands {
		return
	}
	o.Says = p.chance(50)
	switch o.Do {
	case opStep, opFlaky, opCharge, opRow:
		o.Within = p.chance(40)
	default:
	}
}

// ops draws n operations, numbered on from ids.
func (p *flowPlanner) ops(ids *int, n, depth int, strands bool) []op {
	kinds := []opKind{
		opStep, opFlaky, opBroken, opCharge, opCharge, opCharge, opRow, opRow, opRow, opSleep, opSleep, opSignal, opHurry, opRace, opPledge,
	}
	if depth > 0 {
		kinds = append(kinds, opChild, opChild, opFan)
	}
	if strands {
		kinds = append(kinds, opStrands, opStrands)
	}
	ops := make([]op, n)
	for i := range ops {
		*ids++
		o := op{Do: kinds[p.random.IntN(len(kinds))], ID: *ids, Millis: p.random.IntN(30)}
		switch o.Do {
		case opRow:
			o.Millis /= 3 // it keeps everybody from writing to SQLite
		case opCharge, opPledge:
			o.Slow = p.chance(30)
		case opSleep, opHurry, opRace:
			o.Millis = 20 + p.random.IntN(400)
		case opChild, opFan:
			o = p.call(o, depth-1)
		case opStrands:
			o.Left = p.ops(ids, 1+p.random.IntN(2), depth, false)
			o.Right = p.ops(ids, 1+p.random.IntN(3), depth, false)
		default:
		}
		ops[i] = o
	}
	return ops
}

// call draws whom an operation calls.
func (p *flowPlanner) call(o op, depth int) op {
	var child task
	if o.Count = 1; o.Do == opFan {
		o.Count = 2 + p.random.IntN(3)
	}
	if o.Do == opFan || p.chance(40) {
		child = p.errand()
	} else {
		child = p.flow(depth)
	}
	o.Child = &child
	return o
}
