package copies

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// stubsCopied: stubs of archived jobs, more of them than a page has.
func stubsCopied(p *pair) {
	var ids []store.ID
	keep := store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Archived: true, Limit: 100}
	for i := range 7 {
		id := p.from.Add()
		p.from.Cancel(id)
		p.from.Clock.Advance(50 * time.Hour)
		jobs, _, err := p.from.Store.Expired(p.from.Ctx, keep)
		p.from.NoError("Expired", err)
		for n := range jobs {
			jobs[n].Archived = fmt.Sprint("file ", i)
		}
		_, err = p.from.Store.RemoveExpired(p.from.Ctx, jobs)
		p.from.NoError("RemoveExpired", err)
		ids = append(ids, id)
	}
	stays := p.from.Add()
	p.copy(3, 1<<20)
	p.to.WantState(stays, store.Available)
	for _, id := range ids {
		_, want := p.from.Store.Get(p.from.Ctx, "", id)
		_, got := p.to.Store.Get(p.to.Ctx, "", id)
		p.to.WantErr("Get", got, store.ErrNotFound)
		p.to.Equal("Get", got, want)
	}
}
