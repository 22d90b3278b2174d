package limit

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/declared"
	"github.com/holdfastdev/holdfast/store"
)

// Did is what a Sync did about a limit.
type Did = declared.Did

// What a Sync does.
const (
	Added     = declared.Added     // there was none of that name
	Updated   = declared.Updated   // it was as code had declared it before, and is as it declares it now
	Unchanged = declared.Unchanged // it was so already
	Kept      = declared.Kept      // a person has changed it, or made it: it differs from what code declares, see Drifts
)

// Sync brings what code declares into the database, usually before Run. A limit that is not there
// is added; one that is there as code has declared it before is updated; what a person has set is
// never overwritten. What code no longer declares stays. Of several versions of a program that
// start one after the other the last one prevails.
//
// It returns what it did about each. A limit that is wrong is an ErrInvalid before anything is
// changed. Many processes may do it at once.
func Sync(ctx context.Context, c *holdfast.Client, limits ...Limit) ([]Did, error) {
	drafts, names := make([]store.Limit, len(limits)), map[string]bool{}
	for i, l := range limits {
		d, err := l.draft(c)
		if err == nil && names[l.name] {
			err = fmt.Errorf("%w: limit %q is declared twice", store.ErrInvalid, l.name)
		}
		if err == nil {
			d.Declared, err = d.Encode()
		}
		if err != nil {
			return nil, err
		}
		drafts[i], names[l.name] = d, true
	}
	did := make([]Did, 0, len(drafts))
	for _, d := range drafts {
		what, err := syncOne(ctx, c, d)
		if err != nil {
			return did, fmt.Errorf("limit %q: %w", d.Name, err)
		}
		did = append(did, what)
	}
	return did, nil
}

func syncOne(ctx context.Context, c *holdfast.Client, d store.Limit) (did Did, err error) {
	_, err = change(ctx, c, d.Name, func(l *store.Limit) (bool, error) {
		if l.Version == 0 {
			did = Added
			*l = d
			return true, nil
		}
		is, err := l.Encode()
		if err != nil {
			return false, err
		}
		what, save := declared.Judge(is, l.Declared, d.Declared)
		if did, l.Declared = what, d.Declared; what == Updated {
			err = setDeclared(l, d.Declared)
		}
		return save, err
	})
	return did, err
}

// Drifts reports whether a limit that code declares differs from what it declares, because a person
// has changed it. Reset undoes that.
func Drifts(l *store.Limit) bool {
	is, err := l.Encode()
	return err == nil && l.Declared != "" && is != l.Declared
}

// Declared returns the settings that code has declared last; ok is false if no code has.
func Declared(l *store.Limit) (settings store.LimitSettings, ok bool) {
	if l.Declared == "" {
		return settings, false
	}
	settings, err := store.DecodeLimit(l.Declared)
	return settings, err == nil
}

func setDeclared(l *store.Limit, text string) (err error) {
	l.LimitSettings, err = store.DecodeLimit(text)
	return err
}
