// Package declared has the rule by which what code declares is brought into a database where
// people change it, too: schedules and limits. What a person has set is never overwritten.
//
// It imports nothing of ours.
package declared

// Did is what became of a declaration.
type Did string

// What may become of one.
const (
	Added     Did = "added"     // there was nothing of that name
	Updated   Did = "updated"   // it was as code had declared it before, and is as it declares it now
	Unchanged Did = "unchanged" // it was so already
	Kept      Did = "kept"      // a person has changed it, or made it: it differs from what code declares
)

// Judge says what becomes of a declaration, of which there is something: as it is, as code has
// declared it last ("" if no code has), and as code declares it now, all of them in the same form.
// save reports that there is something to save, if only what code declares now. What is Updated is
// set to that.
func Judge(is, before, now string) (did Did, save bool) {
	switch is {
	case now:
		return Unchanged, before != now
	case before:
		return Updated, true
	}
	return Kept, before != now
}
