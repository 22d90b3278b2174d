package wire

import (
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Prefix is where the methods of a store are in the API of a server.
const Prefix = "/api/v1/store/"

// Path is that of a method, such as /api/v1/store/open-updates of OpenUpdates.
func Path(method string) string { return Prefix + strings.ReplaceAll(snake(method), "_", "-") }

// What is beside the contract's methods.
const (
	HelloPath  = Prefix + "hello"  // POST: an In of a Hello, answered with a Welcome
	WatchPath  = Prefix + "watch"  // GET: a stream of Events, one in a line
	NotifyPath = Prefix + "notify" // POST: an In of wake-ups
)

// The headers of a request.
const (
	// TimeoutHeader is how many milliseconds the caller waits at the most.
	TimeoutHeader = "Holdfast-Timeout"
	// ClientHeader is a random text for each store that is open, which is not told of what it has
	// itself said with Notify.
	ClientHeader = "Holdfast-Client"
	// RequestHeader is the request in whose context the call is made (store.WithRequest).
	RequestHeader = "Holdfast-Request"
	// SchemaHeader is the version of the schema that the client knows.
	SchemaHeader = "Holdfast-Schema"
)

// The version of the schema that this program knows, and the oldest one whose programs are served
// by a server of this one, as store.Schema.IsServed says of databases. The contract has no version
// of its own: whatever changes in it has come with a migration.
const (
	Schema = 1
	Serves = 1
)

// In is what a method is called with, but its context: the zero ones of what it has not are left
// out. None is the type of what it has not.
type In[A, B, C, D any] struct {
	A A
	B B
	C C
	D D
}

// None is nothing.
type None struct{}

// Out is what a method has answered.
type Out[A, B any] struct {
	A   A
	B   B
	Err error
	Now time.Time // by the server's store
}

// Hello is what a client says of itself when it opens a store.
type Hello struct {
	Schema int
}

// Welcome is what a server says of itself.
type Welcome struct {
	Schema, Serves int
	Traits         store.Traits
}

// Event is a line of what a server tells those who watch.
type Event struct {
	Now    time.Time
	Wakes  []store.Wake // none: it is a heartbeat
	Traits store.Traits
	Err    error // with which the watch has ended
}

// Heartbeat is how often a server sends an event at least.
const Heartbeat = 5 * time.Second

// Reserved is what Reserve has found. What a run remembers of it is said by its client
// (Reservation.Say), which sends what it says of what it expects: At, Stopped and Resumed of the
// reservation. If something else is found, nothing happens, and the client says that and asks
// again.
type Reserved struct {
	At      time.Time
	Stopped bool
	Resumed int64
	Differs bool // from what was expected: nothing has happened
}
