//go:build unix

package faulttest

import (
	"time"

	"github.com/holdfastdev/holdfast"
)

// narrow is a job that counts in a limit, and takes so many milliseconds.
var narrow = holdfast.NewTask[int]("narrow")

func narrowing(hf *holdfast.Client) error {
	return narrow.Handle(hf, func(run *holdfast.Run, millis int) error {
		linger(run, time.Duration(millis)*time.Millisecond)
		return run.Err()
	})
}
