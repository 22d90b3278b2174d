package simulate

import (
	"time"

	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// take does one step. It reports whether there was anything to do.
func (w *world) take(s Step) bool {
	w.fault = s.Fault
	d := play.NewDice(s.Seed)
	do := actions[s.Do]
	if s.Do == OpEnqueue && w.unfinished() >= crowd {
		do = (*world).claim
	}
	return do(w, d)
}

// actions are what steps do. Where there is no node to do it, or nothing to do it to, another thing
// is done that may bring it about.
var actions = [ops]func(*world, *play.Dice) bool{
	OpJoin: (*world).join, OpBeat: (*world).beat, OpClaim: (*world).claim, OpBatch: (*world).batch, OpAppend: (*world).append,
	OpPark: (*world).park, OpEnd: (*world).end, OpRepeat: (*world).repeat, OpLate: (*world).late, OpAudit: (*world).audit,
	OpLeave: (*world).leave, OpFreeze: (*world).freeze, OpThaw: (*world).thaw, OpKill: (*world).kill, OpLead: (*world).lead,
	OpRescue: (*world).rescue, OpPromote: (*world).promote, OpSweep: (*world).sweep, OpClose: (*world).closeChildren,
	OpRetain: (*world).retain, OpSignal: (*world).signal, OpCallback: (*world).callback, OpEnqueue: (*world).enqueue,
	OpCancel: (*world).cancel, OpTerminate: (*world).terminate, OpPauseJob: (*world).pauseJob, OpResume: (*world).resume,
	OpRetry: (*world).retry, OpFork: (*world).fork, OpPauseQueue: (*world).pauseQueue, OpResumeQueue: (*world).resumeQueue,
	OpForward: (*world).forward, OpBack: (*world).back, OpSchedule: (*world).schedule, OpLookUp: (*world).lookUp, OpFire: (*world).fire,
	OpTrigger: (*world).trigger, OpJump: (*world).jump,
}

func (w *world) forward(d *play.Dice) bool {
	by := play.Among(d, time.Millisecond, time.Second, time.Second, 3*time.Second, 10*time.Second, 10*time.Second, 30*time.Second, time.Minute,
		5*time.Minute, time.Hour)
	if d.Chance(1) {
		by = 3 * 24 * time.Hour
	}
	w.clock.Move(by)
	w.tellf("the clock goes on by %v", by)
	return true
}

func (w *world) back(d *play.Dice) bool {
	by := play.Among(d, time.Millisecond, time.Second, 10*time.Second, time.Minute)
	w.clock.Move(-by)
	w.tellf("the clock goes back by %v", by)
	return true
}
