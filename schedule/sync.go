package schedule

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/declared"
	"github.com/holdfastdev/holdfast/store"
)

// Did is what a Sync did about a schedule.
type Did = declared.Did

// What a Sync does.
const (
	Added     = declared.Added     // there was none of that name
	Updated   = declared.Updated   // it was as code had declared it before, and is as it declares it now
	Unchanged = declared.Unchanged // it was so already
	Kept      = declared.Kept      // a person has changed it, or made it: it differs from what code declares, see Drifts
)

// Sync brings what code declares into the database, usually before Run. A schedule that is not
// there is added; one that is there as code has declared it before is updated; what a person has
// set is never overwritten. What code no longer declares stays: delete it, or pause it. Of several
// versions of a program that start one after the other the last one prevails.
//
// It returns what it did about each. A schedule that is wrong is an ErrInvalid before anything is
// changed. One whose times have passed, such as an At of a program that was deployed long ago, is
// not wrong: it is added, and is over from the start. Many processes may do it at once.
func Sync(ctx context.Context, c *holdfast.Client, schedules ...Schedule) ([]Did, error) {
	e, _ := access.Engine(c)
	drafts := make([]*draft, len(schedules))
	names := map[string]bool{}
	for i, s := range schedules {
		d, err := s.draft(c)
		if err == nil {
			err = d.begin(nil, e.Store.Now())
		}
		if err == nil && names[s.name] {
			err = fmt.Errorf("%w: schedule %q is declared twice", store.ErrInvalid, s.name)
		}
		if err == nil {
			d.Declared, err = d.declaration()
		}
		if err != nil {
			return nil, err
		}
		drafts[i], names[s.name] = d, true
	}
	did := make([]Did, 0, len(drafts))
	for _, d := range drafts {
		what, err := d.sync(ctx)
		if err != nil {
			return did, fmt.Errorf("schedule %q: %w", d.Name, err)
		}
		did = append(did, what)
	}
	return did, nil
}

func (d *draft) sync(ctx context.Context) (Did, error) {
	e, _ := access.Engine(d.client)
	_, err := Get(ctx, d.client, d.Name)
	if errors.Is(err, store.ErrNotFound) {
		_, err = e.SaveSchedule(ctx, d.Schedule, 0, d.client.Actor())
		if !errors.Is(err, store.ErrConflict) { // or another process was faster
			return Added, err
		}
	}
	what := Unchanged
	_, err = change(ctx, d.client, d.Name, func(now *draft) (bool, error) {
		is, err := now.declaration()
		if err != nil {
			return false, err
		}
		did, save := declared.Judge(is, now.Declared, d.Declared)
		if what, now.Declared = did, d.Declared; did == Updated {
			err = now.setDeclared(d.Declared)
		}
		return save, err
	})
	return what, err
}

// Drifts reports whether a schedule that code declares differs from what it declares, because a
// person has changed it. Reset undoes that.
func Drifts(s *store.Schedule) bool {
	is, err := (&draft{Schedule: *s}).declaration()
	return err == nil && s.Declared != "" && is != s.Declared
}

// Declared returns the settings that code has declared last; ok is false if no code has.
func Declared(s *store.Schedule) (settings store.ScheduleSettings, ok bool) {
	if s.Declared == "" {
		return settings, false
	}
	settings, err := store.DecodeSettings(s.Declared)
	return settings, err == nil
}

// declaration is what a schedule says, as Declared keeps it.
func (d *draft) declaration() (string, error) { return d.Encode() }

func (d *draft) setDeclared(text string) (err error) {
	d.ScheduleSettings, err = store.DecodeSettings(text)
	return err
}
