package logs

import "sync"

// pen writes lines to the log in order, in a goroutine of its own that lives as long as there are
// lines. It is for callers that must not wait for a user's logger, because they hold a lock or
// commit for others.
type pen struct {
	mu    sync.Mutex
	lines []func()
	idle  chan struct{} // closed when all lines are written; nil: none pending
}

// Put queues a line. write must not panic.
func (p *pen) Put(write func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, write)
	if p.idle == nil {
		p.idle = make(chan struct{})
		go p.loop()
	}
}

func (p *pen) loop() {
	for {
		p.mu.Lock()
		lines := p.lines
		p.lines = nil
		if lines == nil {
			close(p.idle)
			p.idle = nil
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		for _, write := range lines {
			write()
		}
	}
}

// wait returns when all lines queued before are written.
func (p *pen) wait() {
	p.mu.Lock()
	idle := p.idle
	p.mu.Unlock()
	if idle != nil {
		<-idle
	}
}
