package builtin

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// drainTime is how long outputs are read after the command has ended and its group was killed. Its
// output is in the pipes by then; only a process that has left the group can keep them open, and is
// not waited for.
const drainTime = time.Second

// streams are the input and outputs of a command. It makes the pipes itself, because with those of
// os/exec Wait waits until all processes have closed them.
type streams struct {
	stdout, stderr output
	copies         sync.WaitGroup
}

// output is the tail of an output, and the pipe that it is read from.
type output struct {
	*tail

	read, write *os.File
}

func (o *output) open() (err error) {
	o.tail = newTail(outputLimit)
	o.read, o.write, err = os.Pipe()
	return err
}

// startStreams starts a command with its streams.
func startStreams(cmd *exec.Cmd, stdin string) (*streams, error) {
	s := &streams{}
	err := s.start(cmd, stdin)
	// The command has its own copies.
	_ = s.stdout.write.Close()
	_ = s.stderr.write.Close()
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *streams) start(cmd *exec.Cmd, stdin string) (err error) {
	if err = errors.Join(s.stdout.open(), s.stderr.open()); err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = s.stdout.write, s.stderr.write
	var in io.WriteCloser
	if stdin != "" {
		if in, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err = cmd.Start(); err != nil {
		return err
	}
	for _, o := range []output{s.stdout, s.stderr} {
		s.copies.Go(func() {
			_, _ = io.Copy(o.tail, o.read) // until the output ends or is closed
		})
	}
	if in != nil {
		s.copies.Go(func() {
			_, _ = io.WriteString(in, stdin) // the command need not read it; Wait ends this
			_ = in.Close()
		})
	}
	return nil
}

// finish reads the rest of the outputs after the command has ended. They do not change afterwards.
func (s *streams) finish(ctx context.Context) {
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	unhook := context.AfterFunc(over, s.close)
	defer unhook()
	s.copies.Wait()
	s.close()
}

// close stops reading.
func (s *streams) close() {
	_ = s.stdout.read.Close()
	_ = s.stderr.read.Close()
}
