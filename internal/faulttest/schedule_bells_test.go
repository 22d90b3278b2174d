package faulttest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// bell is the job of a schedule that fires each second. It takes so many milliseconds.
var bell = holdfast.NewKind[int, int]("bell")

// ringing registers what a node needs to ring bells.
func ringing(hf *holdfast.Client) error {
	return bell.Handle(hf, func(run *holdfast.Run, millis int) (int, error) {
		linger(run, time.Duration(millis)*time.Millisecond)
		return millis, run.Err()
	})
}

func words(run store.ScheduleRun) string {
	if run.State == 0 {
		return "no run"
	}
	return fmt.Sprintf("a run that is %v, job %s", run.State, run.Job)
}

// leader is the name of the node that leads; "" if none does.
func leader(ctx context.Context, hf *holdfast.Client) string {
	nodes, err := hf.Nodes(ctx)
	if err != nil {
		return ""
	}
	for _, n := range nodes {
		if n.Leader && n.DeadAt.IsZero() && strings.HasPrefix(n.Info.Name, "ringer") {
			return n.Info.Name
		}
	}
	return ""
}
