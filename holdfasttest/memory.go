package holdfasttest

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// memory is a database in memory, which several processes of a test may share. It loses no wake-up
// and no process, so nodes may look rarely for what those would have told; what they usually learn
// by looking, it tells at once.
type memory struct {
	*model.Store

	mu        sync.Mutex
	processes []*process
	enqueued  []*enqueued
	byID      map[store.ID]*enqueued
	writes    int           // how often Apply has written
	wrote     chan struct{} // told of each write
}

// process is the database as one process sees it. It is a store.Source, too.
type process struct {
	*model.Store // that of the memory, or a closed one

	memory   *memory
	heard    chan struct{} // told when there are wake-ups
	watching bool          // guarded by memory.mu, like wakes
	wakes    []store.Wake
}

func newMemory(st *model.Store) *memory {
	return &memory{Store: st, byID: map[store.ID]*enqueued{}, wrote: make(chan struct{}, 1)}
}

// process adds a process.
func (m *memory) process() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &process{Store: m.Store, memory: m, heard: make(chan struct{}, 1)}
	m.processes = append(m.processes, p)
	return p
}

// tell tells all processes but one, or all if that is nil.
func (m *memory) tell(but *process, wakes ...store.Wake) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.processes {
		if p != but && p.watching {
			p.wakes = append(p.wakes, wakes...)
			signal(p.heard)
		}
	}
}

// Watch implements store.Store. What happened before it began may have been missed.
func (p *process) Watch(ctx context.Context, wake func(store.Wake)) error {
	p.watch(true)
	defer p.watch(false)
	for {
		select {
		case <-p.heard:
			for _, w := range p.take() {
				wake(w)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *process) watch(on bool) {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	p.watching, p.wakes = on, nil
	if on {
		p.wakes = []store.Wake{{Kind: store.WakeAll}}
		signal(p.heard)
	}
}

func (p *process) take() []store.Wake {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	wakes := p.wakes
	p.wakes = nil
	return wakes
}

// Notify implements store.Store. What a process waits for is not passed on: all are told of all
// news.
func (p *process) Notify(wakes ...store.Wake) {
	p.memory.tell(p, slices.DeleteFunc(slices.Clone(wakes), func(w store.Wake) bool {
		return w.Kind == store.WakeWanted || w.Kind == store.WakeStillWanted
	})...)
}

// Apply implements store.Writer.
func (p *process) Apply(ctx context.Context, batch *store.Batch) error {
	err := p.Store.Apply(ctx, batch)
	if err == nil {
		p.memory.note(batch)
		p.memory.tell(p, store.Wake{Kind: store.WakeNews})
	}
	return err
}

// CloseChildren implements store.Maintenance. A node learns by its beats that a job which it runs
// was terminated.
func (p *process) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	closed, err := p.Store.CloseChildren(ctx, limit)
	if len(closed.Ended) > 0 {
		p.memory.tell(nil, store.Wake{Kind: store.WakeNews}, store.Wake{Kind: store.WakeCancel, Jobs: closed.Ended})
	}
	return closed, err
}

// Leave implements store.Nodes. By its next beat a node takes the lead that another one has left.
func (p *process) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	wakes, err := p.Store.Leave(ctx, node)
	p.memory.tell(nil, store.Wake{Kind: store.WakeCancel})
	return wakes, err
}

// note keeps what a batch has enqueued.
func (m *memory) note(batch *store.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range batch.Appends {
		for _, q := range a.Enqueues {
			m.noteEnqueue(q)
		}
	}
	for _, q := range batch.Enqueues {
		m.noteEnqueue(q)
	}
	m.writes++
	signal(m.wrote)
}

// enqueued is a job that was enqueued, and its args then.
type enqueued struct {
	id              store.ID
	namespace, kind string
	args            []byte
}

// noteEnqueue keeps what was enqueued. m.mu is held.
func (m *memory) noteEnqueue(q *store.Enqueue) {
	if q.Err != nil {
		return
	}
	known := m.byID[q.Result.ID]
	switch {
	case known != nil && q.Result.Replaced:
		known.args = bytes.Clone(q.Job.Args)
	case known != nil: // it is not new
	default:
		known = &enqueued{id: q.Result.ID, namespace: q.Job.Namespace, kind: q.Job.Kind, args: bytes.Clone(q.Job.Args)}
		m.byID[known.id] = known
		m.enqueued = append(m.enqueued, known)
	}
}

// written counts the writes.
func (m *memory) written() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// Close implements store.Store. The database stays for other processes.
func (p *process) Close() error {
	m := p.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.processes = slices.DeleteFunc(m.processes, func(other *process) bool { return other == p })
	p.Store = model.New(m.Now)
	return p.Store.Close()
}

// signal wakes the receiver of a channel of capacity one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Open implements store.Source.
func (p *process) Open(context.Context) (store.Store, error) { return p, nil }

// Migrate implements store.Source.
func (*process) Migrate(context.Context) (store.Schema, error) { return store.Schema{}, nil }

// Schema implements store.Source.
func (*process) Schema(context.Context) (store.Schema, error) { return store.Schema{}, nil }

// Migrations implements store.Source.
func (*process) Migrations() []store.Migration { return nil }

func (*process) String() string { return "memory" }
