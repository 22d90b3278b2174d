// Package clock has functions that read clocks and wait.
package clock

import (
	"context"
	"time"
	stdtime "time"

	"github.com/holdfastdev/holdfast"
)

func wrong(run *holdfast.Run, in int) (int, error) {
	start := time.Now() // want `^time\.Now differs on every replay; use run\.Now$`
	if err := run.Sleep(time.Hour); err != nil {
		return 0, err
	}
	_ = time.Since(start)                        // want `time\.Since differs on every replay; subtract from the result of run\.Now`
	_ = time.Until(start)                        // want `time\.Until differs on every`
	time.Sleep(time.Second)                      // want `time\.Sleep waits outside the journal; use run\.Sleep`
	_ = time.After(time.Second)                  // want `time\.After waits outside the journal; use run\.Timer and holdfast\.Select`
	_ = time.NewTimer(time.Second)               // want `time\.NewTimer waits`
	_ = time.Tick(time.Second)                   // want `time\.Tick waits outside the journal; use run\.Sleep in a loop`
	_ = time.NewTicker(time.Second)              // want `time\.NewTicker waits`
	_ = time.AfterFunc(time.Second, func() {})   // want `time\.AfterFunc runs outside the journal; use holdfast\.Go and run\.Sleep`
	_ = stdtime.Now()                            // want `time\.Now`
	now := time.Now                              // want `time\.Now`
	return now().Second() + stamp(time.Now), nil // want `time\.Now`
}

func stamp(now func() time.Time) int { return now().Second() }

func right(run *holdfast.Run, in int) (int, error) {
	start, err := run.Now()
	if err != nil {
		return 0, err
	}
	at, err := holdfast.Step(run, "read the clock", func(context.Context) (time.Time, error) {
		time.Sleep(time.Millisecond)
		return time.Now(), nil
	})
	if err != nil {
		return 0, err
	}
	_ = time.Unix(0, 0).Sub(start).Round(time.Hour)
	return int(at.Sub(start)), run.SleepUntil(at.Add(time.Hour))
}
