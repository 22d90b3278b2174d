package core

// MaxLanes is how many lanes a generation of the cache keeps. Only tests change it.
var MaxLanes = 20_000

func (t *laneTable) add(l *Lane) {
	if t.byName == nil {
		t.byName, t.byID = map[LaneName]*Lane{}, map[int64]*Lane{}
	}
	t.byName[l.LaneName], t.byID[l.ID] = l, l
}

// named returns the lane with a name, or nil.
func (c *LaneCache) named(name LaneName) *Lane {
	return c.find(func(t *laneTable) *Lane { return t.byName[name] })
}

// numbered returns the lane with an id, or nil.
func (c *LaneCache) numbered(id int64) *Lane {
	return c.find(func(t *laneTable) *Lane { return t.byID[id] })
}

func (c *LaneCache) find(in func(*laneTable) *Lane) *Lane {
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
func (c *LaneCache) publish(lanes []*Lane) {
	if len(lanes) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lanes {
		c.keep(l)
	}
}

func (c *LaneCache) keep(l *Lane) {
	if len(c.young.byID) >= MaxLanes {
		c.young, c.old = laneTable{}, c.young
	}
	c.young.add(l)
}

// Size is how many lanes are remembered.
func (c *LaneCache) Size() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.young.byID) + len(c.old.byID)
}
