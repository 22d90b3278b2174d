// Package news tells who waits for a job to end, or follows what it publishes, in this process and in others.
//
//	Hub        everybody in this process who waits, and what is known of those in others
//	waiters    those who wait for jobs to end: told in process; one query asks for all others
//	followers  those who read what jobs publish
//	wishes     tell other processes for which jobs this one waits
//	wanted     knows for which jobs the others wait, and which had news a moment ago
//	listening  hears the wake-ups of others while somebody needs them
//
// # What it promises
//
// Who waits for what ends in this process is told by the commit. Who waits for what ends elsewhere says so: whoever ends that job tells,
// and nobody else pays. A wake-up that is lost is made up for within five seconds, by a query for a part of the jobs each second. Nobody
// waiting costs nothing.
//
// # When it fails
//
// The database is away: waits and followers look again and again until it answers. An error that does not pass ends the waits for the jobs
// that it is about. Close ends all of them with store.ErrClosed.
//
// # Imports
//
// Of ours, store, internal/logs and internal/supervise.
package news
