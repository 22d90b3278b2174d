//go:build !unix

package subprocess

func (s *stderr) copy() {
	defer close(s.done)
	buffer := make([]byte, 4<<10)
	for {
		n, err := s.read.Read(buffer)
		s.mu.Lock()
		s.took(buffer[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// catchUp does nothing: these systems cannot tell what is in a pipe. What was written just before
// the end of a run may be logged after it.
func (*stderr) catchUp() {}
