package logs

import "sync"

// pen writes lines to the log one after the other, in a goroutine of its own that lives as long as there are some. It is for those who
// must not wait for a user's logger: who commits for everybody, or holds a lock.
type pen struct {
	mu    sync.Mutex
	lines []func()
	idle  chan struct{} // closed when all are written; nil: nothing is
}

// Put has a line written after those before it. write must not panic.
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
		if p.lines = nil; lines == nil {
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

// wait returns when what was put before is written.
func (p *pen) wait() {
	p.mu.Lock()
	idle := p.idle
	p.mu.Unlock()
	if idle != nil {
		<-idle
	}
}
