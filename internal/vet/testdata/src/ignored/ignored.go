// Package ignored has findings that comments silence.
package ignored

import (
	"time"

	"github.com/holdfastdev/holdfast"
)

func handler(run *holdfast.Run, in int) (time.Duration, error) {
	_ = time.Now() //holdfast:vet ignore only logged
	//holdfast:vet ignore only logged
	_ = time.Now()
	_ = time.Now() // want `time\.Now`

	//holdfast:vet ignore only one of them
	_ = []time.Time{time.Now(), time.Now()} // want `time\.Now`
	//holdfast:vet ignore the first one
	_ = []time.Time{time.Now(), time.Now()} //holdfast:vet ignore the second one

	_ = time.Now() //holdfast:vet ignore // want `time\.Now` `^this comment has no effect; write //holdfast:vet ignore REASON$`
	//holdfast:vet // want `this comment has no effect`
	//holdfast:vet silence please // want `this comment has no effect`
	//holdfast:vetted is another word
	// holdfast:vet ignore is prose
	_ = time.Now() // want `time\.Now`
	//holdfast:vet ignore it is too far away

	_ = time.Now() // want `time\.Now`
	return 0, run.Sleep(1)
}
