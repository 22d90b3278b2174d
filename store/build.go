package store

import "time"

// Build says by which program something was done: as it was built, and with which version of
// Holdfast. The zero value: that is not known (any more).
type Build struct {
	Program string // the version of the program, or what it was told to say (package build)
	Engine  string // the version of Holdfast in it; "": it did not say, as programs of before
}

// NodeBuild is the build of a node.
type NodeBuild struct {
	Node int64
	Build
}

const (
	// BuildsKept is how long it is kept at least by which program a node has run, from its end.
	BuildsKept = 365 * 24 * time.Hour
	// BuildsKeptMost is how long it is kept at most, where jobs are kept for ever.
	BuildsKeptMost = 10 * 365 * 24 * time.Hour
)

// KeepBuilds is how long it is kept by which program a node has run, from its end: as long as any
// of the jobs may be that have ended on it, within BuildsKept and BuildsKeptMost. longest are the
// times for which jobs are kept, by how they ended, at most; 0: for ever.
func KeepBuilds(longest Retention) time.Duration {
	keep := BuildsKept
	for _, d := range [...]time.Duration{longest.Completed, longest.Failed, longest.Cancelled} {
		if d <= 0 {
			d = BuildsKeptMost
		}
		keep = min(max(keep, d), BuildsKeptMost)
	}
	return keep
}

// Nodes are those on which a job has run, as far as the record tells: of the run that runs or has
// finished it, and of the attempts; each once.
func (r *Record) Nodes() (nodes []int64) {
	seen := map[int64]bool{0: true}
	add := func(node int64) {
		if !seen[node] {
			seen[node] = true
			nodes = append(nodes, node)
		}
	}
	add(r.Lease.Node)
	for i := range r.Attempts {
		add(r.Attempts[i].Node)
	}
	return nodes
}

// SetBuilds says of the runs of the record by which programs they were done, which builds has by
// node.
func (r *Record) SetBuilds(builds map[int64]Build) {
	r.Build = builds[r.Lease.Node]
	for i := range r.Attempts {
		r.Attempts[i].Build = builds[r.Attempts[i].Node]
	}
}

// NodesOf are the nodes that whole jobs name, each once.
func NodesOf(jobs []Whole) (nodes []int64) {
	seen := map[int64]bool{0: true}
	for i := range jobs {
		r := Record{Attempts: make([]Attempt, len(jobs[i].Attempts))}
		for n := range jobs[i].Attempts {
			r.Attempts[n].Node = jobs[i].Attempts[n].Node
		}
		if end := jobs[i].End; end != nil {
			r.Lease.Node = end.Node
		}
		for _, node := range r.Nodes() {
			if !seen[node] {
				seen[node] = true
				nodes = append(nodes, node)
			}
		}
	}
	return nodes
}

type buildJSON struct {
	Program textJSON `json:"program"`
	Engine  textJSON `json:"engine"`
}

// json is null for a build that is not known.
func (b Build) json() *buildJSON {
	if b == (Build{}) {
		return nil
	}
	return &buildJSON{textJSON(b.Program), textJSON(b.Engine)}
}

func (b *buildJSON) build() Build {
	if b == nil {
		return Build{}
	}
	return Build{string(b.Program), string(b.Engine)}
}
