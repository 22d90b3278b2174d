package replay

// CatchUp lets the strands of a run that is ending come to where they were, if they have not: its
// handler may have returned with the first of them, and what it is to undo is known when they have.
//
// It is for the goroutine of the handler, which has returned. Whoever gives a stuck run up asks
// isBehind alone: what the run is stuck in never ends.
func (r *Run) CatchUp() {
	if !r.IsBehind() {
		return
	}
	m := r.memory.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle()
}
