package apikey

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// CacheFor is how long a Cache answers without its store: so long a key that was revoked may
	// still be used.
	CacheFor = 10 * time.Second
	// cached bounds how many keys a Cache remembers, and of how many ids that there is none.
	cached = 10_000
)

// Cache remembers keys for CacheFor, so that checks cost no call of the database, and which were
// used. It may be used by many goroutines at once.
type Cache struct {
	store store.APIKeys
	now   func() time.Time

	mu      sync.Mutex
	keys    map[string]remembered
	missing map[string]remembered // apart, so that ids that are made up make it forget no key
	used    map[string]time.Time
}

type remembered struct {
	key   store.APIKey
	err   error // nil, or that there is none
	until time.Time
}

// NewCache returns a cache of a store's keys, which goes by a clock, such as that of the store.
func NewCache(s store.APIKeys, now func() time.Time) *Cache {
	return &Cache{store: s, now: now, keys: map[string]remembered{}, missing: map[string]remembered{}, used: map[string]time.Time{}}
}

// APIKey returns a key as it was at most CacheFor ago. That there is none is remembered, too; other
// errors are not.
func (c *Cache) APIKey(ctx context.Context, id string) (store.APIKey, error) {
	now := c.now()
	c.mu.Lock()
	r, found := c.keys[id]
	if !found {
		r, found = c.missing[id]
	}
	c.mu.Unlock()
	if found && now.Before(r.until) && !now.Before(r.until.Add(-CacheFor)) { // the clock may have been set back
		return r.key, r.err
	}
	key, err := c.store.APIKey(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return key, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.keys, id)
	delete(c.missing, id)
	among := c.keys
	if err != nil {
		among = c.missing
	}
	if len(among) >= cached {
		clear(among)
	}
	among[id] = remembered{key, err, now.Add(CacheFor)}
	return key, err
}

// Verify is Verify with the keys of the cache and by its clock, and notes that the key was used.
func (c *Cache) Verify(ctx context.Context, secret string) (Principal, error) {
	now := c.now()
	p, err := Verify(ctx, c, now, secret)
	if err == nil {
		c.mu.Lock()
		c.used[p.ID] = now
		c.mu.Unlock()
	}
	return p, err
}

// Flush writes which keys were used since the last one. It is to be called about once a minute, and
// at the end. What could not be written is kept for the next one.
func (c *Cache) Flush(ctx context.Context) error {
	c.mu.Lock()
	var uses []store.APIKeyUse
	for id, at := range c.used {
		if len(uses) == 1000 {
			break
		}
		uses = append(uses, store.APIKeyUse{ID: id, At: at})
	}
	c.mu.Unlock()
	if len(uses) == 0 {
		return nil
	}
	if err := c.store.UseAPIKeys(ctx, uses); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, use := range uses {
		if c.used[use.ID].Equal(use.At) {
			delete(c.used, use.ID)
		}
	}
	return nil
}
