// Package rules plays clusters of nodes around what bounds and orders jobs beside their queue:
// limits over all nodes, rates, limits per key, rests of queues, jobs that come after others,
// batches, and fair keys. Like package simulate it takes steps from a seed, in one thread, each a
// call of the contract; requests and answers are lost, arrive twice, late, and out of order; nodes
// stand still, die and join again; two believe to lead; and the clock of the database is set.
//
//	operations  what steps do, by subject
//	node, work  nodes, which know what they were told
//	account     how they keep to limits: by package slots, as the engine does
//	people      who enqueues, and changes limits
//	eye         reads after each call what there is; it hears of each call that arrives
//	rule_*      what must be so: each is told what a call has changed
//	calm        the end: the faults stop, and every job must come to its end
//
// # What is checked
//
//	Limits   the jobs that count in a limit take no more slots than it has, and nodes hold no more,
//	         but for what was held when it was lowered, and for what nodes claim before they know
//	         of it; while more are held than there are none gets any, and nodes that know it start
//	         nothing; slots of the dead come back
//	Rates    in any time at most a burst starts, and what comes in that time, by the times at which
//	         nodes ask; where the clock of the database was set forward in that time, one burst more
//	Keys     no job starts while as many of its key run as may, and those of a key start in order
//	Rests    no job of a queue that rests or is paused starts; a rest is as long as was asked for,
//	         and a run that ends for it is not counted
//	Edges    a job waits for each that it comes after until that has ended as its policy says; it is
//	         cancelled if one ends otherwise and the policy says so, and held if it says that; when
//	         all ends are told none waits for one that has ended
//	Turns    of an ordering key one job runs, and none before one that failed and keeps its turn
//	Batches  what is to be enqueued at the end of a batch is, once, with the mark that it was called
//	         back: after it is closed and all members have ended, as they have ended
//	Fair     a claim takes as many of each key as of any other, one more at the most; each key is
//	         served within twice as many claims as there are keys; within a key in order
//
// In the end no slot is lost, and nothing is stranded: all jobs have finished, and all batches are
// called back (EveryDueThing).
package rules
