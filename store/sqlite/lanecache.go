package sqlite

// maxLanes is how many lanes a generation of the cache keeps. Only tests change it.
var maxLanes = 20_000

func (t *laneTable) add(l *lane) {
	if t.byName == nil {
		t.byName, t.byID = map[laneName]*lane{}, map[int64]*lane{}
	}
	t.byName[l.laneName], t.byID[l.id] = l, l
}

// named returns the lane with a name, or nil.
func (c *laneCache) named(name laneName) *lane {
	return c.find(func(t *laneTable) *lane { return t.byName[name] })
}

// numbered returns the lane with an id, or nil.
func (c *laneCache) numbered(id int64) *lane {
	return c.find(func(t *laneTable) *lane { return t.byID[id] })
}

func (c *laneCache) find(in func(*laneTable) *lane) *lane {
	c.mu.RLock()
	l := in(&c.young)
	aged := l == nil && in(&c.old) != nil
	c.mu.RUnlock()
	if !aged {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l = in(&c.old); l != nil {
		c.keep(l)
	}
	return l
}

// publish takes in lanes that are committed.
func (c *laneCache) publish(lanes []*lane) {
	if len(lanes) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lanes {
		c.keep(l)
	}
}

func (c *laneCache) keep(l *lane) {
	if len(c.young.byID) >= maxLanes {
		c.young, c.old = laneTable{}, c.young
	}
	c.young.add(l)
}

// size is how many lanes are remembered.
func (c *laneCache) size() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.young.byID) + len(c.old.byID)
}
