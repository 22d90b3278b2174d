package vet

import (
	"go/types"
	"strings"
)

// library is the import path of the package with the durable operations.
const library = "github.com/holdfastdev/holdfast"

// role says how a function is used.
type role int

const (
	own    role = iota // declared, or a literal that takes a run: its operations are its own
	part               // a literal that is a part of the function around it
	strand             // passed to Go, OnFailure or Update.Handle, and so replayed whatever it does
	step               // passed to Step, Do or StepTx: it may do anything except durable operations
	opaque             // a literal called with a context, perhaps as a step
)

// operations are the durable operations of the library: they write to the journal or wait for it.
var operations = map[string]bool{
	"Do":     true,
	"Go":     true,
	"Select": true,
	"Step":   true,
	"StepTx": true,

	"Callback.Wait":     true,
	"Child.Wait":        true,
	"Future.Wait":       true,
	"Kind.Call":         true,
	"Kind.CallAll":      true,
	"Kind.Start":        true,
	"Run.Append":        true,
	"Run.Callback":      true,
	"Run.Now":           true,
	"Run.OnFailure":     true,
	"Run.Patched":       true,
	"Run.Publish":       true,
	"Run.Random":        true,
	"Run.Sleep":         true,
	"Run.SleepUntil":    true,
	"Run.Timer":         true,
	"Run.UUID":          true,
	"Run.WaitUntil":     true,
	"Signal.SendFrom":   true,
	"Signal.TryReceive": true,
	"Signal.Wait":       true,
	"Task.Call":         true,
	"Update.Handle":     true,
}

// endings are operations that end the run. A function is not replayed because it has one: only what
// the journal holds beside it makes it so.
var endings = map[string]bool{"Run.CompleteTx": true, "Run.FailTx": true}

// given is the role of functions passed to the library.
var given = map[string]role{
	"Do":            step,
	"Step":          step,
	"StepTx":        step,
	"RetryIf":       opaque, // called after the step has failed, and not on replay
	"Go":            strand,
	"Run.OnFailure": strand,
	"Update.Handle": strand, // the one that takes a run; the validation is not replayed
}

// Why a function must not be called in a durable one.
const (
	anotherTime   = "differs on every replay"
	anotherRandom = "differs on every replay"
	waitsOutside  = "waits outside the journal"
	runsOutside   = "runs outside the journal"
	happensAgain  = "happens again on every replay"
)

// What to use instead.
const (
	useNow    = "use run.Now"
	useSub    = "subtract from the result of run.Now"
	useSleep  = "use run.Sleep"
	useTimer  = "use run.Timer and holdfast.Select"
	useLoop   = "use run.Sleep in a loop"
	useRandom = "use run.Random"
	useChance = "use run.Random or run.UUID, or a Step if it is secret"
	useUUID   = "use run.UUID"
	useGo     = "use holdfast.Go"
	useAwait  = "use holdfast.Go and wait for its future"
	useLess   = "do it in a Step, or return shared values from functions started with holdfast.Go"
	useChild  = "start a child with Kind.Start or Kind.Call, or do it in a Step"
	useStepTx = "do it in a StepTx"
	useSend   = "use Signal.SendFrom, or do it in a Step"
	useStep   = "do it in a Step"
)

// instead is why a function must not be called in a durable one, and what to use instead.
type instead struct{ why, use string }

// replaced are the functions and variables of other packages that have a durable counterpart,
// except the many in the packages of generators.
var replaced = map[string]instead{
	"time.Now":       {anotherTime, useNow},
	"time.Since":     {anotherTime, useSub},
	"time.Until":     {anotherTime, useSub},
	"time.Sleep":     {waitsOutside, useSleep},
	"time.After":     {waitsOutside, useTimer},
	"time.NewTimer":  {waitsOutside, useTimer},
	"time.Tick":      {waitsOutside, useLoop},
	"time.NewTicker": {waitsOutside, useLoop},
	"time.AfterFunc": {runsOutside, "use holdfast.Go and run.Sleep"},

	library + ".NewID": {anotherRandom, useUUID},

	"sync.Cond.Wait":      {waitsOutside, useAwait},
	"sync.Locker.Lock":    {waitsOutside, useLess},
	"sync.Mutex.Lock":     {waitsOutside, useLess},
	"sync.RWMutex.Lock":   {waitsOutside, useLess},
	"sync.RWMutex.RLock":  {waitsOutside, useLess},
	"sync.WaitGroup.Go":   {runsOutside, useGo},
	"sync.WaitGroup.Wait": {waitsOutside, useAwait},

	"golang.org/x/sync/errgroup.Group.Go":          {runsOutside, useGo},
	"golang.org/x/sync/errgroup.Group.TryGo":       {runsOutside, useGo},
	"golang.org/x/sync/errgroup.Group.Wait":        {waitsOutside, useAwait},
	"golang.org/x/sync/semaphore.Weighted.Acquire": {waitsOutside, useLess},

	// Writes of a client.
	library + ".Kind.Enqueue":             {happensAgain, useChild},
	library + ".Kind.EnqueueMany":         {happensAgain, "use Kind.CallAll, or do it in a Step"},
	library + ".Kind.EnqueueTx":           {happensAgain, useStepTx},
	library + ".Client.EnqueueBatch":      {happensAgain, useChild},
	library + ".Client.EnqueueBatchTx":    {happensAgain, useStepTx},
	library + ".Signal.Send":              {happensAgain, useSend},
	library + ".Signal.SendTx":            {happensAgain, useStepTx},
	library + ".Signal.SendByKey":         {happensAgain, useStep},
	library + ".Signal.SendOrStart":       {happensAgain, useStep},
	library + ".Signal.SendOrStartTx":     {happensAgain, useStepTx},
	library + ".Client.SendSignal":        {happensAgain, useSend},
	library + ".Client.SendSignalByKey":   {happensAgain, useStep},
	library + ".Client.CompleteCallback":  {happensAgain, useStep},
	library + ".Client.FailCallback":      {happensAgain, useStep},
	library + ".Client.HeartbeatCallback": {happensAgain, useStep},
	library + "/rules.Answer":             {happensAgain, useStep},
	library + ".Client.Cancel":            {happensAgain, useStep},
	library + ".Client.CancelTx":          {happensAgain, useStepTx},
	library + ".Job.Cancel":               {happensAgain, useStep},
	library + ".Client.Terminate":         {happensAgain, useStep},
	library + ".Client.Retry":             {happensAgain, useStep},
	library + ".Client.RetryTx":           {happensAgain, useStepTx},
	library + ".Kind.Complete":            {happensAgain, useStep},
	library + ".Kind.CompleteTx":          {happensAgain, useStepTx},
	library + ".Client.Complete":          {happensAgain, useStep},
	library + ".Client.CompleteTx":        {happensAgain, useStepTx},
	library + ".Client.Fail":              {happensAgain, useStep},
	library + ".Client.FailTx":            {happensAgain, useStepTx},
	library + ".Client.Pause":             {happensAgain, useStep},
	library + ".Client.Resume":            {happensAgain, useStep},
	library + ".Client.Fork":              {happensAgain, useStep},
	library + ".Client.ContinueAsNew":     {happensAgain, useStep},
	library + ".Client.Edit":              {happensAgain, useStep},
	library + ".Client.EditArgs":          {happensAgain, useStep},
	library + ".Client.EditTags":          {happensAgain, useStep},
	library + ".Kind.Edit":                {happensAgain, useStep},
	library + ".Client.Delete":            {happensAgain, useStep},
	library + ".Client.CallUpdate":        {happensAgain, useStep},
	library + ".Update.Call":              {happensAgain, useStep},
	library + ".Client.PauseQueue":        {happensAgain, useStep},
	library + ".Client.DeleteQueue":       {happensAgain, useStep},
	library + ".Client.ResumeQueue":       {happensAgain, useStep},
	library + ".Client.SetQueue":          {happensAgain, useStep},
	library + ".Client.SetQueueFrom":      {happensAgain, useStep},
	library + ".Client.QuietNode":         {happensAgain, useStep},
	library + ".Client.DrainNode":         {happensAgain, useStep},
	library + ".Client.ResumeNode":        {happensAgain, useStep},
}

// generator is a package whose functions return random values, with some exceptions.
type generator struct {
	instead

	makes func(name string) bool
}

var generators = map[string]generator{
	// A generator with an explicit seed is as good as its seed.
	"math/rand":    {instead{anotherRandom, useRandom}, notNew},
	"math/rand/v2": {instead{anotherRandom, useRandom}, notNew},
	"crypto/rand":  {instead{anotherRandom, useChance}, func(string) bool { return true }},

	"github.com/google/uuid":    {instead{anotherRandom, useUUID}, newUUID},
	"github.com/gofrs/uuid":     {instead{anotherRandom, useUUID}, newUUID},
	"github.com/gofrs/uuid/v5":  {instead{anotherRandom, useUUID}, newUUID},
	"github.com/satori/go.uuid": {instead{anotherRandom, useUUID}, newUUID},
}

func notNew(name string) bool { return !strings.HasPrefix(name, "New") }

// newUUID reports whether a function of that name makes a UUID from chance or the time, not from
// its arguments.
func newUUID(name string) bool {
	switch name {
	case "New", "NewString", "NewRandom", "NewUUID", "NewDCEGroup", "NewDCEPerson", "NewDCESecurity",
		"NewV1", "NewV2", "NewV4", "NewV6", "NewV7":
		return true
	}
	return false
}

// replacement returns what to use instead of a function or a variable.
func replacement(obj types.Object) (instead, bool) {
	if obj == nil || obj.Pkg() == nil {
		return instead{}, false
	}
	path, name := obj.Pkg().Path(), nameOf(obj)
	if found, ok := replaced[path+"."+name]; ok {
		return found, true
	}
	g, ok := generators[path]
	return g.instead, ok && obj.Parent() == obj.Pkg().Scope() && isValue(obj) && g.makes(name)
}

func isValue(obj types.Object) bool {
	switch obj.(type) {
	case *types.Func, *types.Var:
		return true
	}
	return false
}

// operationOf returns the name of a durable operation, or "" for other objects.
func operationOf(obj types.Object) string {
	if name := inLibrary(obj); operations[name] || endings[name] {
		return name
	}
	return ""
}

// inLibrary returns the name of a function of the library, or "".
func inLibrary(obj types.Object) string {
	if fn, ok := obj.(*types.Func); ok && fn.Pkg() != nil && fn.Pkg().Path() == library {
		return nameOf(fn)
	}
	return ""
}

// nameOf returns the name of an object in its package: "Step", or "Run.Sleep" for a method.
func nameOf(obj types.Object) string {
	if fn, ok := obj.(*types.Func); ok {
		if recv := fn.Signature().Recv(); recv != nil {
			if named, ok := pointee(recv.Type()).(*types.Named); ok {
				return named.Obj().Name() + "." + fn.Name()
			}
			return ""
		}
	}
	return obj.Name()
}

// display formats a name of nameOf for users.
func display(operation string) string {
	if method, ok := strings.CutPrefix(operation, "Run."); ok {
		return "run." + method
	}
	if strings.Contains(operation, ".") {
		return operation
	}
	return "holdfast." + operation
}

// pointee is the type that a pointer points to, or the type itself.
func pointee(t types.Type) types.Type {
	t = types.Unalias(t)
	if ptr, ok := t.(*types.Pointer); ok {
		return types.Unalias(ptr.Elem())
	}
	return t
}

// isRun reports whether a type is *holdfast.Run.
func isRun(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok && isNamed(pointee(t), library, "Run")
}

func isContext(t types.Type) bool { return isNamed(types.Unalias(t), "context", "Context") }

func isNamed(t types.Type, path, name string) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}
