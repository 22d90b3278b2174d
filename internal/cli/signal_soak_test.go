//go:build soak

package cli

import (
	"testing"

	"github.com/holdfastdev/holdfast"
)

// TestSignalThatNobodyReads: it is sent, with a note.
func TestSignalThatNobodyReads(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	begun := make(chan struct{})
	s.serve(func(client *holdfast.Client) error {
		return holdfast.NewKind[struct{}, struct{}]("plain").Handle(client, func(run *holdfast.Run, _ struct{}) (struct{}, error) {
			close(begun)
			<-run.Done()
			return struct{}{}, run.Err()
		})
	})
	id := s.enqueue("plain")
	<-begun
	s.expectNote(s.run("signal", "send", id, "go"),
		"The job has started and has no journal. If it is not a durable function, nothing will read the signal.\n")
	s.expectNote(s.run("signal", "send", id, "go", "-q"), "")
	s.expectNote(s.run("signal", "send", s.enqueue("order"), "approved"), "") // it has not started
	builtin := s.enqueue("exec", "--in", "1h", `{"command":["true"]}`)
	s.expectNote(s.run("signal", "send", builtin, "go"), "The kind exec is built in and reads no signals.\n")
	s.ok("job", "cancel", id)
}
