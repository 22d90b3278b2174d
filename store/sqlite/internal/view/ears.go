package view

import (
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/filewatch"
)

// mostMissed is how many changes may come unheard until nothing relies on hearing them.
const mostMissed = 3

// ears hear that the log is written, by this store or another one. They are used by one goroutine.
//
// They are trusted once they have heard anything, and not any more when changes have come of which
// they have not told: a file system may not tell of all.
type ears struct {
	d     *core.Database
	watch *filewatch.Watch // nil: they hear nothing

	own    int64 // transactions of this store up to what was heard last
	ever   bool  // they have heard something
	far    bool  // the next look is far off, and they have heard nothing since
	missed int
}

// listen returns ears that are to be closed, deaf ones where nothing is looked for.
func (v Verbs) listen() *ears {
	e := &ears{d: v.d}
	if v.poll > 0 {
		e.watch = filewatch.Of(v.d.Place.Log.Path, v.d.Place.Main.Path)
	}
	return e
}

func (e *ears) close() { e.watch.Close() }

func (e *ears) written() <-chan struct{} { return e.watch.Written() }

// hear notes that something was heard, and reports whether it is of another store.
func (e *ears) hear() (another bool) {
	e.ever, e.far = true, false
	begun, may := e.d.Own.Since(e.own)
	e.own = begun
	return !may
}

// found notes whether a look has found a change.
func (e *ears) found(changed bool) {
	if changed && e.far {
		e.missed++
	}
	e.far = false
}

// trusted reports whether the next look may wait until something is heard.
func (e *ears) trusted() bool { return e.ever && e.missed < mostMissed }
