package operation

import "github.com/holdfastdev/holdfast/internal/bulk"

// Action is what an operation does to each job. The zero value is none.
type Action struct{ of bulk.Action }

// String says what it does, as in "move to queue slow".
func (a Action) String() string { return a.of.String() }

// Verb is one word for it: cancel, terminate, retry, pause, resume, move, priority, tag or delete.
func (a Action) Verb() string { return string(a.of.Verb) }

// Cancel cancels jobs, as Client.Cancel does.
func Cancel() Action { return Action{bulk.Action{Verb: bulk.Cancel}} }

// Terminate ends jobs at once, as Client.Terminate does.
func Terminate() Action { return Action{bulk.Action{Verb: bulk.Terminate}} }

// Retry makes jobs run again at once, as Client.Retry does.
func Retry() Action { return Action{bulk.Action{Verb: bulk.Retry}} }

// Pause pauses jobs, as Client.Pause does.
func Pause() Action { return Action{bulk.Action{Verb: bulk.Pause}} }

// Resume resumes jobs, as Client.Resume does.
func Resume() Action { return Action{bulk.Action{Verb: bulk.Resume}} }

// Delete deletes finished jobs, as Client.Delete does.
func Delete() Action { return Action{bulk.Action{Verb: bulk.Delete}} }

// Move moves jobs to another queue, as Client.Edit does.
func Move(queue string) Action { return Action{bulk.Action{Verb: bulk.Move, Queue: queue}} }

// SetPriority sets the priority of jobs, from 1, the most urgent, to 4.
func SetPriority(priority int) Action {
	return Action{bulk.Action{Verb: bulk.Priority, Priority: priority}}
}

// Tag adds tags to those that jobs have, in any state.
func Tag(tags ...string) Action { return Retag(tags, nil) }

// Untag removes tags.
func Untag(tags ...string) Action { return Retag(nil, tags) }

// Retag adds tags and removes others.
func Retag(add, remove []string) Action {
	return Action{bulk.Action{Verb: bulk.Tag, Add: add, Drop: remove}}
}
