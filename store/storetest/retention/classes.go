package retention

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var classTests = env.Tests{
	"a_class_is_told_with_when_and_by_whom":              told,
	"a_class_is_replaced_as_a_whole":                     replaced,
	"the_same_again_changes_nothing":                     again,
	"a_change_is_of_the_class_that_was_read":             asRead,
	"a_class_that_is_not_there_is_not_deleted_nor_named": notThere,
	"a_class_that_a_queue_names_is_not_deleted":          inUse,
	"there_are_so_many_classes_and_not_more":             bounded,
	"Invalid_classes_and_pages":                          invalid,
}

const (
	hour = time.Hour
	days = 24 * time.Hour
)

func classes(e *env.Env, what string, want ...store.RetentionClass) {
	e.Helper()
	got, err := e.Store.RetentionClasses(e.Ctx)
	e.NoError("RetentionClasses", err)
	if len(want) != 0 || len(got) != 0 {
		e.Equal(what, got, want)
	}
}

func told(e *env.Env) {
	classes(e, "at first")
	e.Clock.Advance(1500 * time.Nanosecond)
	short := e.SetRetention(store.RetentionClass{Name: "short", Completed: hour, Failed: 7 * days})
	at := e.Clock.Now().Truncate(time.Microsecond)
	e.Equal("set", short, store.RetentionClass{Name: "short", Completed: hour, Failed: 7 * days, SetAt: at, SetBy: "ada"})
	long := e.SetRetention(store.RetentionClass{
		Name: "long", Completed: store.KeepForever, Failed: store.KeepForever,
		Cancelled: 1500 * time.Millisecond,
	})
	nobody, err := e.Store.SetRetention(e.Ctx, store.RetentionClass{Name: "None \"'%_ö"})
	e.NoError("SetRetention", err)
	classes(e, "set", nobody, long, short)
}

func replaced(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Completed: hour, Failed: days})
	e.Clock.Advance(time.Minute)
	is := e.SetRetention(store.RetentionClass{Name: "short", Cancelled: hour})
	e.Equal("set", is, store.RetentionClass{Name: "short", Cancelled: hour, SetAt: e.Clock.Now().Truncate(time.Microsecond), SetBy: "ada"})
	classes(e, "set", is)
}

func again(e *env.Env) {
	first := e.SetRetention(store.RetentionClass{Name: "short", Completed: hour})
	e.Clock.Advance(time.Minute)
	is, err := e.Store.SetRetention(e.Ctx, store.RetentionClass{Name: "short", Completed: hour, SetBy: "bob"})
	e.NoError("SetRetention", err)
	e.Equal("set", is, first)
	classes(e, "set", first)
}

func asRead(e *env.Env) {
	set := func(was store.RetentionClass, completed time.Duration) (store.RetentionClass, error) {
		return e.Store.SetRetention(e.Ctx, store.RetentionClass{Name: "short", Completed: completed, SetAt: was.SetAt, SetBy: "ben"})
	}
	first := e.SetRetention(store.RetentionClass{Name: "short", Completed: hour})
	e.Clock.Advance(time.Minute)
	second, err := set(first, 2*hour)
	e.NoError("SetRetention", err)
	e.Clock.Advance(time.Minute)
	_, err = set(first, 3*hour)
	for what, err := range map[string]error{"SetRetention": err, "DeleteRetention": e.Store.DeleteRetention(e.Ctx, first)} {
		e.WantErr(what, err, store.ErrConflict)
		_, changed := errors.AsType[*store.ChangedError](err)
		e.Equal(what, changed, true)
	}
	again, err := set(first, 2*hour) // as after an answer that was lost
	e.NoError("SetRetention", err)
	e.Equal("again", again, second)
	classes(e, "set", second)
	e.NoError("DeleteRetention", e.Store.DeleteRetention(e.Ctx, second))
	_, err = set(second, 3*hour)
	e.WantErr("what was deleted", err, store.ErrConflict)
	classes(e, "deleted")
}

func notThere(e *env.Env) {
	e.WantErr("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "short"}), store.ErrNotFound)
	e.Add()
	_, err := e.Store.SetQueue(e.Ctx, store.SetQueueParams{
		Namespace: env.Namespace, Queue: "mail", Set: store.AttemptSettings{MaxAttempts: 3, Retention: "short"},
	})
	e.WantErr("SetQueue", err, store.ErrNotFound)
	e.Equal("the queue", e.Queue("mail").Attempts, store.QueueAttempts{})
	e.SetRetention(store.RetentionClass{Name: "short"})
	e.NoError("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "short"}))
	classes(e, "deleted")
}

func inUse(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Completed: hour})
	e.SetRetention(store.RetentionClass{Name: "other", Completed: hour})
	e.NameRetention("mail", "short")
	_, err := e.Store.SetQueue(e.Ctx, store.SetQueueParams{
		Namespace: env.OtherSpace, Queue: "else", Set: store.AttemptSettings{Retention: "short"},
	})
	e.NoError("SetQueue", err)
	e.Equal("the queue", e.Queue("mail").Attempts.Retention, "short")
	e.WantErr("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "short"}), store.ErrConflict)
	e.NameRetention("mail", "other")
	e.WantErr("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "short"}), store.ErrConflict)
	e.NoError("DeleteQueue", e.Store.DeleteQueue(e.Ctx, store.DeleteQueueParams{Namespace: env.OtherSpace, Queue: "else"}))
	e.NoError("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "short"}))
	e.WantErr("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "other"}), store.ErrConflict)
	e.NameRetention("mail", "")
	e.NoError("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "other"}))
}

func bounded(e *env.Env) {
	for i := range store.MostRetentionClasses {
		e.SetRetention(store.RetentionClass{Name: fmt.Sprint("c", i), Completed: hour})
	}
	_, err := e.Store.SetRetention(e.Ctx, store.RetentionClass{Name: "more"})
	e.WantErr("SetRetention", err, store.ErrConflict)
	e.SetRetention(store.RetentionClass{Name: "c7", Completed: 2 * hour})
	e.NoError("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: "c8"}))
	e.SetRetention(store.RetentionClass{Name: "more"})
}

func invalid(e *env.Env) {
	for what, c := range map[string]store.RetentionClass{
		"no name":          {},
		"a pattern":        {Name: "mail*"},
		"NUL":              {Name: "a\x00"},
		"an actor":         {Name: "a", SetBy: "\xff"},
		"less than second": {Name: "a", Failed: time.Millisecond},
		"negative":         {Name: "a", Completed: -hour},
		"too fine":         {Name: "a", Cancelled: hour + 1},
	} {
		_, err := e.Store.SetRetention(e.Ctx, c)
		e.WantErr(what, err, store.ErrInvalid)
	}
	e.WantErr("DeleteRetention", e.Store.DeleteRetention(e.Ctx, store.RetentionClass{Name: ""}), store.ErrInvalid)
	for _, limit := range []int{0, 1001} {
		_, err := e.Store.Removed(e.Ctx, store.RemovedParams{Namespace: env.Namespace, Limit: limit})
		e.WantErr("Removed", err, store.ErrInvalid)
	}
	_, err := e.Store.SetQueue(e.Ctx, store.SetQueueParams{
		Namespace: env.Namespace, Queue: "mail", Set: store.AttemptSettings{Retention: "a\x00"},
	})
	e.WantErr("SetQueue", err, store.ErrInvalid)
	classes(e, "at last")
}
