//go:build unix

package subprocess

import (
	"errors"
	"syscall"
)

// copy reads to the end. What it has read it takes under the lock under which it was read, so that
// catchUp misses nothing that is on its way.
func (s *stderr) copy() {
	defer close(s.done)
	raw, err := s.read.SyscallConn()
	if err != nil {
		return
	}
	for over := false; !over; {
		err := raw.Read(func(fd uintptr) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			var again bool
			over, again = s.readNow(int(fd))
			return over || !again
		})
		if err != nil {
			return // it was closed
		}
	}
}

// mostInPipe is how much a pipe holds at the most, in bytes.
const mostInPipe = 1 << 20

// catchUp takes what is in the pipe when it is called. What a process goes on writing is not waited
// for.
func (s *stderr) catchUp() {
	raw, err := s.read.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // or it was closed
		s.mu.Lock()
		defer s.mu.Unlock()
		for left := mostInPipe; left > 0; left -= portion {
			if over, again := s.readNow(int(fd)); over || again {
				return
			}
		}
	})
}

// portion is how much is read at once.
const portion = 4 << 10

// readNow reads once, without waiting: over says that nothing will come any more, and again that
// there is nothing now.
func (s *stderr) readNow(fd int) (over, again bool) {
	var buffer [portion]byte
	n, err := syscall.Read(fd, buffer[:])
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return false, true
	case errors.Is(err, syscall.EINTR):
		return false, false
	case err != nil || n <= 0:
		return true, false
	}
	s.took(buffer[:n])
	return false, false
}
