package crashtest

import (
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast"
)

// words are what a run says of its job: its metadata, and in other words its only tag.
type words struct {
	Job   holdfast.ID `json:"job"`
	At    string      `json:"at"` // what comes next
	Gen   int         `json:"gen"`
	Lease int64       `json:"lease"`
}

func (w words) tag() string { return fmt.Sprintf("%s of %d by %d", w.At, w.Gen, w.Lease) }

// What a run says that is at no operation.
const (
	theBeginning = "the beginning" // an errand, with a checkpoint
	theEnd       = "the end"
)

// within is what the function of a step says.
func within(step string) string { return "within " + step }

// say says where the run is.
func (p *player) say(run *holdfast.Run, at string) error {
	if !p.task.Talks {
		return nil
	}
	w := words{Job: run.ID(), At: at, Gen: p.task.Gen, Lease: run.Lease().Number}
	p.tell(eventSays, at, "")
	return errors.Join(run.SetMetadata(w), run.SetTags(w.tag()))
}

func (p *player) sayWithin(run *holdfast.Run, o op) error {
	if !o.Within {
		return nil
	}
	return p.say(run, within(o.name()))
}

// begin stores with a checkpoint what an errand says at its beginning.
func (p *player) begin() error {
	if !p.task.Talks {
		return nil
	}
	err := p.say(p.run, theBeginning)
	if err == nil {
		err = save(p.run, stage{1})
	}
	if err == nil {
		p.tell(eventKept, theBeginning, "")
	}
	return err
}
