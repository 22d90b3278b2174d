package slots

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// portions are how slots are divided among classes.
type portions struct {
	rooms []int          // how many jobs of each class may be claimed
	needs map[*limit]int // how many slots of each limit its classes could use if they had them
	uses  map[*limit]int // and how many they can use
	wants map[*limit]int // how many permits of each limit its classes could use
	saved map[*limit]int // how many slots of each limit are kept for a class that needs more

	came    map[*limit]bool // the place of a class has come that gets slots of it, or lacks some
	blocked []*class        // for which slots would be saved up, if they have jobs

	ofShare map[*share]*heap
	ofLimit map[*limit]*heap
	ofRate  map[*limit]*heap // permits, one for each job
	limits  []*limit         // those of ofLimit, in the order of the classes
	at      time.Duration
}

// heap is what is left of slots, and how many classes still come to take some.
type heap struct{ left, users int }

// portion is for how many jobs of a weight the next class may take slots: its even part, but for
// one at least if there are enough for that.
func (h *heap) portion(weight int) int {
	users := max(h.users, 1)
	even := (h.left + users - 1) / users
	return min(max(even, weight), h.left) / weight
}

// apportion divides the slots of shares and limits among classes: first among those that may have
// jobs, so that none of them takes what another one needs, and what is left among the others, which
// are only looked at. Where there are fewer slots than classes, those get one that got none for the
// longest time. The savers come before all others.
func apportion(classes, savers []*class, at time.Duration, roomOf func(*share) int) portions {
	p := portions{
		rooms: make([]int, len(classes)), needs: map[*limit]int{}, uses: map[*limit]int{}, saved: map[*limit]int{},
		ofShare: map[*share]*heap{}, ofLimit: map[*limit]*heap{}, ofRate: map[*limit]*heap{}, wants: map[*limit]int{},
		came: map[*limit]bool{}, at: at,
	}
	var likely, others []*class
	for i, c := range classes {
		c.place = i
		p.heap(c, roomOf)
	}
	for _, c := range savers {
		if c.place < len(classes) && classes[c.place] == c && c.mayHaveJobs() {
			likely = append(likely, c)
		}
	}
	savers = slices.Clip(likely)
	for _, c := range classes {
		switch {
		case c.saves && slices.Contains(savers, c):
		case c.mayHaveJobs():
			likely = append(likely, c)
		default:
			others = append(others, c)
		}
	}
	byTurn := func(a, b *class) int { return cmp.Compare(a.turn, b.turn) }
	slices.SortStableFunc(likely[len(savers):], byTurn)
	slices.SortStableFunc(others, byTurn)
	for _, c := range likely {
		if c.permitted(at) {
			for _, n := range c.counts {
				if !c.isBarred(n.limit) {
					p.needs[n.limit] += p.ofShare[c.share].left * n.weight
				}
			}
		}
		p.want(c)
	}
	p.save(savers)
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

// soon is what is to be divided with the permits that there are, or will be in a moment; without
// ofRate if there are no rates. A node that gave slots back until its permits come would not have
// them then.
func (p *portions) soon() (soon portions) {
	if len(p.ofRate) == 0 {
		return soon
	}
	soon = portions{
		rooms: make([]int, len(p.rooms)), uses: map[*limit]int{}, came: map[*limit]bool{},
		ofShare: copied(p.ofShare), ofLimit: copied(p.ofLimit), ofRate: copied(p.ofRate),
	}
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
			p.limits = append(p.limits, n.limit)
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

// divide divides what is left among classes, in their order: first in even parts, and then what
// some of them cannot use, since their jobs take more or lack something else.
func (p *portions) divide(classes []*class) {
	for _, c := range classes {
		for h := range p.heapsOf(c) {
			h.users++
		}
	}
	for _, c := range classes {
		p.noteTurn(c, p.give(c))
		for h := range p.heapsOf(c) {
			h.users--
		}
	}
	for _, c := range classes {
		p.give(c)
	}
}

// give gives a class its portion.
func (p *portions) give(c *class) (room int) {
	room = math.MaxInt
	for h, weight := range p.heapsOf(c) {
		room = min(room, h.portion(weight))
	}
	for h, weight := range p.heapsOf(c) {
		h.left -= room * weight
	}
	p.rooms[c.place] += room
	return room
}

// heapsOf yields the heaps that a job of a class takes something of, and how much.
func (p *portions) heapsOf(c *class) func(yield func(*heap, int) bool) {
	return func(yield func(*heap, int) bool) {
		if !yield(p.ofShare[c.share], 1) {
			return
		}
		for _, n := range c.counts {
			if !yield(p.ofLimit[n.limit], n.weight) {
				return
			}
			if rate := p.ofRate[n.limit]; rate != nil && !yield(rate, 1) {
				return
			}
		}
	}
}

// save keeps slots back for those of the classes that save. They come first. One that lacks slots
// of several limits, or waits for those of one of which its jobs take no more than others, keeps
// none back: these might stand idle for as long as a job runs that counts elsewhere.
func (p *portions) save(savers []*class) {
	for _, c := range savers {
		if !c.mayGather() || !c.permitted(p.at) || p.ofShare[c.share].left == 0 || p.isBehind(c) {
			continue
		}
		var lacks []count
		permits := true
		for _, n := range c.counts {
			if p.ofLimit[n.limit].left < n.weight {
				lacks = append(lacks, n)
			}
			permits = permits && (p.ofRate[n.limit] == nil || p.ofRate[n.limit].left > 0)
		}
		if len(lacks) > 1 || len(lacks) == 1 && lacks[0].weight == 1 {
			continue
		}
		for _, n := range c.counts {
			p.saved[n.limit] = min(p.ofLimit[n.limit].left, n.weight)
		}
		if len(lacks) == 0 && permits {
			continue // it comes first, and gets them
		}
		for _, n := range c.counts {
			p.ofLimit[n.limit].left -= p.saved[n.limit]
			p.uses[n.limit] += p.saved[n.limit]
		}
	}
}

// isBehind reports whether slots of a limit of the class are saved for one before it.
func (p *portions) isBehind(c *class) bool {
	return slices.ContainsFunc(c.counts, func(n count) bool { return p.saved[n.limit] > 0 })
}

// noteTurn notes that the place of a class has come. If it gets nothing, since jobs of others have
// slots of which one of its own needs several, and in their limits it is the first whose place has
// come, some are to be saved up for it.
func (p *portions) noteTurn(c *class, room int) {
	if !c.mayHaveJobs() || room == 0 && (p.ofShare[c.share].left == 0 || !c.permitted(p.at) || !c.mayGather()) {
		return
	}
	lacks, first := false, true
	for _, n := range c.counts {
		if p.ofLimit[n.limit].left < n.weight {
			lacks, first = lacks || n.weight > 1, first && !p.came[n.limit]
			p.came[n.limit] = true
		}
		p.came[n.limit] = p.came[n.limit] || room > 0
	}
	if room > 0 || !lacks || !first || c.saves {
		return
	}
	p.blocked = append(p.blocked, c)
	for _, n := range c.counts { // they are of use as soon as others end
		p.uses[n.limit] += min(p.ofLimit[n.limit].left, n.weight)
	}
}
