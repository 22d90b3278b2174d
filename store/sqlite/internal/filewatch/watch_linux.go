package filewatch

import (
	"os"
	"syscall"
	"time"
)

// Watch tells of writes until it is closed.
type Watch struct {
	written chan struct{}
	events  *os.File
	closing chan struct{}
	ended   chan struct{}
}

const (
	// writes are the events of a file whose content matters, and moves those that say that a file
	// is not in its place any more; the last is the count of its links.
	writes = syscall.IN_MODIFY | moves
	moves  = syscall.IN_MOVE_SELF | syscall.IN_DELETE_SELF | syscall.IN_ATTRIB
)

// Of watches a file that is written, and one that has to stay where it is. Both exist. It returns
// nil if it cannot.
func Of(written, stays string) *Watch {
	if inBubble() {
		return nil
	}
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	events := os.NewFile(uintptr(fd), "inotify") // of a descriptor that does not block, Close ends a Read
	for path, mask := range map[string]uint32{written: writes, stays: moves} {
		if _, err := syscall.InotifyAddWatch(fd, path, mask); err != nil {
			_ = events.Close() // it told nothing
			return nil
		}
	}
	w := &Watch{make(chan struct{}, 1), events, make(chan struct{}), make(chan struct{})}
	go w.listen()
	return w
}

// Close ends it, if it is not nil.
func (w *Watch) Close() {
	if w == nil {
		return
	}
	close(w.closing)
	_ = w.events.Close() // it tells nothing
	<-w.ended
}

func (w *Watch) listen() {
	defer close(w.ended)
	var pause pause
	for buf := make([]byte, 4096); ; {
		if _, err := w.events.Read(buf); err != nil {
			return // it was closed
		}
		select {
		case w.written <- struct{}{}:
		default: // the last one is not received yet
		}
		select {
		case <-time.After(pause.after(time.Now())):
		case <-w.closing:
			return
		}
	}
}

// inBubble reports whether the time is not that of the machine.
func inBubble() bool {
	var t syscall.Timeval
	if err := syscall.Gettimeofday(&t); err != nil {
		return true
	}
	return time.Since(time.Unix(t.Unix())).Abs() > time.Minute
}
