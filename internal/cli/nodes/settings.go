package nodes

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/archive"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

// The flags of nodes.
const (
	flagAllowExec   = "allow-exec"
	flagSlots       = "slots"
	flagQueue       = "queue"
	flagNodeName    = "node-name"
	flagBeat        = "beat"
	flagDeadAfter   = "dead-after"
	flagStopTimeout = "stop-timeout"
	flagListen      = "listen"
	flagArchive     = "archive"
	flagStubs       = "archive-stubs"
	flagNoJournals  = "archive-without-journals"
)

// The variables of these flags.
const (
	EnvAllowExec   = "HOLDFAST_ALLOW_EXEC"
	EnvSlots       = "HOLDFAST_SLOTS"
	EnvQueues      = "HOLDFAST_QUEUES"
	EnvNodeName    = "HOLDFAST_NODE_NAME"
	EnvBeat        = "HOLDFAST_BEAT"
	EnvDeadAfter   = "HOLDFAST_DEAD_AFTER"
	EnvStopTimeout = "HOLDFAST_STOP_TIMEOUT"
	EnvListen      = "HOLDFAST_LISTEN"
	EnvArchive     = "HOLDFAST_ARCHIVE"
	EnvStubs       = "HOLDFAST_ARCHIVE_STUBS"
	EnvNoJournals  = "HOLDFAST_ARCHIVE_WITHOUT_JOURNALS"
)

// settings are the flags of nodes.
type settings struct {
	allowExec   bool
	slots       int
	queues      []string
	nodeName    string
	beat        time.Duration
	deadAfter   time.Duration
	stopTimeout time.Duration
	listen      string
	api         *apiFlags // nil: it does not serve the API
	archive     archiving
	works       bool // it runs jobs
	outside     subprocesses
	keeps       *kept // nil: the library's defaults count
	log         app.LogFlags

	name   string            // of nodeName
	served []holdfast.Option // of queues
}

// add adds the flags of nodes that run jobs.
func (f *settings) add(a verbs, cmd *cobra.Command, allowExec bool, format string) {
	f.works = true
	f.addOfNode(a, cmd, format)
	f.outside.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.allowExec, flagAllowExec, allowExec, "run exec jobs: anyone who can enqueue can run commands as this user")
	flags.IntVar(&f.slots, flagSlots, f.slots, "run at most `N` jobs at once, of each namespace")
	arg.TextsVar(flags, &f.queues, flagQueue, nil,
		"serve queue `NAME[=SLOTS]`, with at most SLOTS of its jobs at once; NAME* is each queue that begins so; "+
			"repeatable, or a comma-separated list (default: all queues)")
	for flag, variable := range map[string]string{flagAllowExec: EnvAllowExec, flagSlots: EnvSlots, flagQueue: EnvQueues} {
		app.Variable(flags, flag, variable)
	}
}

// addOfNode adds the flags that every node has.
func (f *settings) addOfNode(a verbs, cmd *cobra.Command, format string) {
	f.slots = 100
	flags := cmd.Flags()
	flags.StringVar(&f.nodeName, flagNodeName, defaultNodeName,
		"name of the node, for people: a `TEMPLATE` with {host}, {pid}, {version} and {id}")
	flags.DurationVar(&f.beat, flagBeat, 5*time.Second, "say every `DURATION` that the node lives")
	flags.DurationVar(&f.deadAfter, flagDeadAfter, 20*time.Second, "be dead after this `DURATION` without a beat: others then take the jobs")
	flags.DurationVar(&f.stopTimeout, flagStopTimeout, 20*time.Second, "give running jobs this `DURATION` to finish after the first signal")
	if f.api == nil {
		flags.StringVar(&f.listen, flagListen, "",
			"serve /metrics, /healthz and /readyz by HTTP on `ADDRESS`, such as 127.0.0.1:9464 (default: do not listen)")
	} else {
		f.api.add(cmd, &f.listen)
	}
	f.archive.add(cmd, "keep finished jobs in files in `DIR` before they are removed; give it to all nodes, any of which may lead")
	f.log.Add(flags, "info", format)
	if f.keeps != nil {
		f.keeps.add(cmd)
	}
	a.AddConfigFlag(cmd, func() []func() error { return a.rules(f) })
	for flag, variable := range map[string]string{
		flagNodeName: EnvNodeName, flagBeat: EnvBeat, flagDeadAfter: EnvDeadAfter, flagStopTimeout: EnvStopTimeout,
		flagListen: EnvListen, flagArchive: EnvArchive, flagStubs: EnvStubs, flagNoJournals: EnvNoJournals,
	} {
		app.Variable(flags, flag, variable)
	}
}

// nodeOptions checks settings by their rules, and turns them into options of the library. A
// directory for archives in which no file can be made is refused now, and not when the first job is
// old enough.
func (a verbs) nodeOptions(ctx context.Context, f *settings) ([]holdfast.Option, error) {
	if err := a.check(f); err != nil {
		return nil, err
	}
	opts := []holdfast.Option{
		holdfast.WithSlots(f.slots), holdfast.WithStopTimeout(f.stopTimeout), holdfast.WithLeases(f.beat, f.deadAfter),
		holdfast.WithNodeName(f.name),
	}
	kept, err := a.archiveTo(ctx, &f.archive)
	if err != nil {
		return nil, err
	}
	opts = append(opts, kept...)
	if f.archive.stubs > 0 {
		opts = append(opts, holdfast.WithRetention(store.Retention{Stubs: f.archive.stubs}))
	}
	if f.api != nil { // those of the nodes that send, each of which may lead
		f.api.nodes = append(slices.Clip(kept), holdfast.WithLeases(f.beat, f.deadAfter), holdfast.WithStopTimeout(f.stopTimeout))
		if f.archive.stubs > 0 {
			f.api.nodes = append(f.api.nodes, holdfast.WithRetention(store.Retention{Stubs: f.archive.stubs}))
		}
	}
	return append(opts, f.served...), nil
}

// queuesOf parses lists of queues, each NAME or NAME=SLOTS.
func queuesOf(lists []string) (opts []holdfast.Option, err error) {
	seen := map[string]bool{}
	for _, list := range lists {
		for item := range strings.SplitSeq(list, ",") {
			item = strings.TrimSpace(item)
			name, text, limited := strings.Cut(item, "=")
			slots := 0
			if limited {
				if slots, err = strconv.Atoi(text); err != nil || slots < 1 {
					return nil, arg.Usagef("%q must be NAME or NAME=SLOTS, such as mail=10", item)
				}
			}
			switch {
			case name == "":
				return nil, arg.Usagef("a name is empty in %q", list)
			case seen[name]:
				return nil, arg.Usagef("the queue %s is given twice", name)
			}
			seen[name] = true
			opts = append(opts, holdfast.WithQueue(name, slots))
		}
	}
	return opts, nil
}

// defaultNodeName is what the library calls a node, too.
const defaultNodeName = "{host}[{pid}]"

// placeholder is a part of a template.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// placeholders are what the parts of a node's name stand for in this process.
func placeholders() map[string]string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	var id [3]byte
	_, _ = rand.Read(id[:]) // never fails
	return map[string]string{
		"{host}": host, "{pid}": strconv.Itoa(os.Getpid()), "{version}": version, "{id}": hex.EncodeToString(id[:]),
	}
}

// expand replaces the placeholders of a template.
func expand(template string, values map[string]string) (string, error) {
	unknown := ""
	name := placeholder.ReplaceAllStringFunc(template, func(part string) string {
		value, ok := values[part]
		if !ok && unknown == "" {
			unknown = part
		}
		return value
	})
	if unknown != "" {
		return "", fmt.Errorf("%s stands for nothing; there are {host}, {pid}, {version} and {id}, and other text stays as it is", unknown)
	}
	return name, nil
}

// archiving is what the flags say of archives.
type archiving struct {
	dir        string
	stubs      time.Duration
	noJournals bool
}

func (f *archiving) add(cmd *cobra.Command, usage string) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, flagArchive, "", usage)
	flags.DurationVar(&f.stubs, flagStubs, 0, "keep for this `DURATION`, such as 8760h, where each archived job is (default: leave no stubs)")
	flags.BoolVar(&f.noJournals, flagNoJournals, false, "archive jobs without what they remember and were sent")
}

// check is why the flags cannot be.
func (f *archiving) check(a verbs) error {
	needs := func(flag string) error {
		return arg.About(arg.Usagef("%s needs --%s", a.NameOf(flag), flagArchive), flag, flagArchive)
	}
	switch {
	case f.stubs < 0:
		return arg.About(arg.Usagef("%s %v is negative", a.NameOf(flagStubs), f.stubs), flagStubs)
	case f.dir == "" && f.stubs > 0:
		return needs(flagStubs)
	case f.dir == "" && f.noJournals:
		return needs(flagNoJournals)
	}
	return nil
}

// archiveTo is the option of --archive, none without it.
func (a verbs) archiveTo(ctx context.Context, f *archiving) ([]holdfast.Option, error) {
	if f.dir == "" {
		return nil, nil
	}
	to := archive.Dir(f.dir)
	try, err := to.Create(ctx, fmt.Sprintf("try-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err == nil {
		err = try.Abort()
	}
	if err != nil {
		return nil, arg.Usagef("%s: no file can be made there: %w", a.NameOf(flagArchive), err)
	}
	var how []archive.Option
	if f.stubs > 0 {
		how = append(how, archive.Stubs())
	}
	if f.noJournals {
		how = append(how, archive.WithoutJournals())
	}
	return []holdfast.Option{archive.To(to, how...)}, nil
}
