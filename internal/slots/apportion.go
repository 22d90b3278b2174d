package slots

import "time"

// portions are how slots are divided among classes.
type portions struct {
	rooms []int          // how many jobs of each class may be claimed
	needs map[*limit]int // how many slots of each limit its classes could use if they had them
	uses  map[*limit]int // and how many they can use
	wants map[*limit]int // how many permits of each limit its classes could use

	ofShare map[*share]*heap
	ofLimit map[*limit]*heap
	ofRate  map[*limit]*heap // permits, one for each job
	at      time.Duration
}

// heap is what is left of slots, and how many classes still come to take some.
type heap struct{ left, users int }

// portion is for how many jobs of a weight the next class may take slots: its even part, but for
// one at least if there are enough for that.
func (h *heap) portion(weight int) int {
	even := (h.left + h.users - 1) / max(h.users, 1)
	return min(max(even, weight), h.left) / weight
}

func (h *heap) take(slots int) {
	h.left -= slots
	h.users--
}

// apportion divides the slots of shares and limits among classes: first among those that may have
// jobs, so that none of them takes what another one needs, and what is left among the others, which
// are only looked at. Where there are fewer slots than classes, those get one whose turn it is.
func apportion(classes []*class, turn int, at time.Duration, roomOf func(*share) int) portions {
	p := portions{
		rooms: make([]int, len(classes)), needs: map[*limit]int{}, uses: map[*limit]int{},
		ofShare: map[*share]*heap{}, ofLimit: map[*limit]*heap{}, ofRate: map[*limit]*heap{}, wants: map[*limit]int{}, at: at,
	}
	var likely, others []*class
	for i := range classes {
		c := classes[(turn+i)%len(classes)]
		p.heap(c, roomOf)
		if c.mayHaveJobs() {
			likely = append(likely, c)
		} else {
			others = append(others, c)
		}
	}
	for _, c := range likely {
		if c.permitted(at) {
			for _, n := range c.counts {
				p.needs[n.limit] += p.ofShare[c.share].left * n.weight
			}
		}
		p.want(c)
	}
	soon := p.soon()
	p.divide(likely)
	if soon.ofRate != nil {
		soon.divide(likely)
	} else {
		soon = p
	}
	for _, c := range likely {
		for _, n := range c.counts {
			p.uses[n.limit] += soon.rooms[c.place] * n.weight
		}
	}
	p.divide(others)
	return p
}

// permitted reports whether all rates that the jobs of a class count in have permits for them, or
// will have some in a moment. For others slots are of no use.
func (c *class) permitted(at time.Duration) bool {
	for _, n := range c.counts {
		if m := n.limit.meter; m != nil && m.soon(at) == 0 {
			return false
		}
	}
	return true
}

// soon is what is to be divided with the permits that there are, or will be in a moment; without
// ofRate if there are no rates. A node that gave slots back until its permits come would not have
// them then.
func (p *portions) soon() (soon portions) {
	if len(p.ofRate) == 0 {
		return soon
	}
	soon = portions{rooms: make([]int, len(p.rooms)), ofShare: copied(p.ofShare), ofLimit: copied(p.ofLimit), ofRate: copied(p.ofRate)}
	for l, h := range soon.ofRate {
		h.left = l.meter.soon(p.at)
	}
	return soon
}

func copied[T comparable](heaps map[T]*heap) map[T]*heap {
	all := make(map[T]*heap, len(heaps))
	for of, h := range heaps {
		all[of] = new(*h)
	}
	return all
}

// heap sees to it that there are heaps for a class.
func (p *portions) heap(c *class, roomOf func(*share) int) {
	if p.ofShare[c.share] == nil {
		p.ofShare[c.share] = &heap{left: roomOf(c.share)}
	}
	for _, n := range c.counts {
		if p.ofLimit[n.limit] == nil {
			p.ofLimit[n.limit] = &heap{left: n.limit.room()}
		}
		if n.limit.meter != nil && p.ofRate[n.limit] == nil {
			p.ofRate[n.limit] = &heap{left: n.limit.meter.room(p.at)}
		}
	}
}

// want notes for how many jobs of a class permits are of use: those that have slots.
func (p *portions) want(c *class) {
	jobs := p.ofShare[c.share].left
	for _, n := range c.counts {
		jobs = min(jobs, n.limit.room()/n.weight)
	}
	for _, n := range c.counts {
		if n.limit.meter != nil {
			p.wants[n.limit] += jobs
		}
	}
}

// divide divides what is left among classes, in their order.
func (p *portions) divide(classes []*class) {
	for _, c := range classes {
		p.ofShare[c.share].users++
		for _, n := range c.counts {
			p.ofLimit[n.limit].users++
			if rate := p.ofRate[n.limit]; rate != nil {
				rate.users++
			}
		}
	}
	for _, c := range classes {
		room := p.ofShare[c.share].portion(1)
		for _, n := range c.counts {
			room = min(room, p.ofLimit[n.limit].portion(n.weight))
			if rate := p.ofRate[n.limit]; rate != nil {
				room = min(room, rate.portion(1))
			}
		}
		p.rooms[c.place] = room
		p.ofShare[c.share].take(room)
		for _, n := range c.counts {
			p.ofLimit[n.limit].take(room * n.weight)
			if rate := p.ofRate[n.limit]; rate != nil {
				rate.take(room)
			}
		}
	}
}
