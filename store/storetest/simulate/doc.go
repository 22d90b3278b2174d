// Package simulate plays a cluster on a store: nodes that claim, work, freeze and come back,
// leaders and those who believe to lead, people, and senders, in one thread, from a seed. Each step
// is a call of the contract of package store, in which there is no engine. What goes wrong is drawn
// with the steps: a request or an answer is lost, a call arrives twice, or once more long after,
// and the clock jumps ahead and goes back.
//
//	Step     what is done: an operation, a number from which all its choices follow, and a fault
//	world    those who do it; they know what they were told
//	faults   what is lost between them and the store
//	witness  hears what arrives at the store, and every answer before it may be lost
//	ledger   what must be so by now
//	store    under test: the model, SQLite, or one that is broken on purpose
//
// The witness checks each answer against the ledger, reads the jobs that a call was about, and now
// and then everything there is. It is no second implementation of what a store decides, but a list
// of what it has said and been told: where a store may choose, it follows. In the end the faults
// stop, and every job must come to its end.
//
// # What is checked
//
//	NoLoss           an enqueue or a message that was accepted is there, as it was written
//	OneOwner         a job has one live lease; a write under it is accepted, and no other
//	Once             what is repeated has happened once, and is answered like the first time
//	Atomic           a job is where the answers say, in whichever way it is read
//	Remembered       entries, messages and checkpoints are as they were written, without gaps
//	FinishedIsFinal  a job that has finished stays so, unless a person asks
//	Unique, Order    one job holds a key; one of an ordering key runs, the one whose turn it is
//	EveryDueThing    what is due is promoted, what waits is woken, what is there is claimed, and
//	                 what is abandoned is rescued
//	CancelArrives    who runs a job that is to stop is told, and one that was ended completes no more
//	Counts, Limits   queues count what there is; claims take no more than they may
//	Retention        a job is removed when its time is over, and never before
//	OneFire          a fire is carried out if it was decided from the schedule as it is; each nominal
//	                 time up to the cursor has one run of the clock, and each number of a person one
//	OneLeader        one node is told to lead at a time, each under an epoch of its own
//	Contract         what is refused is refused with the error that it should be
//
// # When it fails
//
// Hunt leaves out the steps that are not needed (see Shrink), and the failure prints those that
// are, with the story that they tell. They are data: ParseSteps reads them, and Replay replays
// them, or a part of them. The choices of a step depend on its own number, so that a part still
// does much the same. Traces that failed once are in testdata and are replayed first.
//
// The flags -seed and -steps of the test go on from another seed, for as long as one likes.
package simulate
