package gateway

import (
	"context"
	"reflect"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

// reads are the methods that change nothing, which a server that only reads has.
var reads = map[string]any{
	"APIKey":             store.Store.APIKey,
	"APIKeys":            store.Store.APIKeys,
	"AttemptsOfQueues":   store.Store.AttemptsOfQueues,
	"AwaitTx":            store.Store.AwaitTx,
	"Batches":            store.Store.Batches,
	"Busy":               store.Store.Busy,
	"Count":              store.Store.Count,
	"DeadGroups":         store.Store.DeadGroups,
	"DeclaredAttributes": store.Store.DeclaredAttributes,
	"Descriptors":        store.Store.Descriptors,
	"DueSchedules":       store.Store.DueSchedules,
	"Ended":              store.Store.Ended,
	"Endpoints":          store.Store.Endpoints,
	"Entries":            store.Store.Entries,
	"Expired":            store.Store.Expired,
	"Facts":              store.Store.Facts,
	"FeedStatus":         store.Store.FeedStatus,
	"Find":               store.Store.Find,
	"Get":                store.Store.Get,
	"GetUpdate":          store.Store.GetUpdate,
	"Journals":           store.Store.Journals,
	"ListAudit":          store.Store.ListAudit,
	"Limits":             store.Store.Limits,
	"List":               store.Store.List,
	"Logs":               store.Store.Logs,
	"Measure":            store.Store.Measure,
	"Messages":           store.Store.Messages,
	"Namespaces":         store.Store.Namespaces,
	"NextOf":             store.Store.NextOf,
	"Nodes":              store.Store.Nodes,
	"Obstacles":          store.Store.Obstacles,
	"OpenUpdates":        store.Store.OpenUpdates,
	"Queues":             store.Store.Queues,
	"ReadFeed":           store.Store.ReadFeed,
	"Removed":            store.Store.Removed,
	"RetentionClasses":   store.Store.RetentionClasses,
	"RunningOf":          store.Store.RunningOf,
	"ScheduleRuns":       store.Store.ScheduleRuns,
	"Schedules":          store.Store.Schedules,
	"StuckKeys":          store.Store.StuckKeys,
	"Unserved":           store.Store.Unserved,
	"WaitingOfKeys":      store.Store.WaitingOfKeys,
}

// writes are the methods that may change something.
var writes = map[string]any{
	"Apply":             store.Store.Apply,
	"AskNode":           store.Store.AskNode,
	"Beat":              store.Store.Beat,
	"Cancel":            store.Store.Cancel,
	"Claim":             store.Store.Claim,
	"CloseBatch":        store.Store.CloseBatch,
	"CloseChildren":     store.Store.CloseChildren,
	"CountBatches":      store.Store.CountBatches,
	"CreateAPIKey":      store.Store.CreateAPIKey,
	"CreateBatch":       store.Store.CreateBatch,
	"CreateNamespace":   store.Store.CreateNamespace,
	"DeclareAttributes": store.Store.DeclareAttributes,
	"Delete":            store.Store.Delete,
	"DeleteEndpoint":    store.Store.DeleteEndpoint,
	"DeleteLimit":       store.Store.DeleteLimit,
	"DeleteNamespace":   store.Store.DeleteNamespace,
	"DeleteQueue":       store.Store.DeleteQueue,
	"DeleteRetention":   store.Store.DeleteRetention,
	"DeleteSchedule":    store.Store.DeleteSchedule,
	"Depend":            store.Store.Depend,
	"Describe":          store.Store.Describe,
	"Drain":             store.Store.Drain,
	"Edit":              store.Store.Edit,
	"Finish":            store.Store.Finish,
	"ForgetUpdate":      store.Store.ForgetUpdate,
	"Fork":              store.Store.Fork,
	"Grant":             store.Store.Grant,
	"Join":              store.Store.Join,
	"KeepFacts":         store.Store.KeepFacts,
	"KeepLogs":          store.Store.KeepLogs,
	"Leave":             store.Store.Leave,
	"MergeFacts":        store.Store.MergeFacts,
	"OrderFeed":         store.Store.OrderFeed,
	"Pause":             store.Store.Pause,
	"PauseJobs":         store.Store.PauseJobs,
	"Promote":           store.Store.Promote,
	"RemoveAttribute":   store.Store.RemoveAttribute,
	"RemoveExpired":     store.Store.RemoveExpired,
	"Rescue":            store.Store.Rescue,
	"Reserve":           store.Store.Reserve,
	"Rest":              store.Store.Rest,
	"Resume":            store.Store.Resume,
	"ResumeLimit":       store.Store.ResumeLimit,
	"Retain":            store.Store.Retain,
	"Retry":             store.Store.Retry,
	"RevokeAPIKey":      store.Store.RevokeAPIKey,
	"SaveLimit":         store.Store.SaveLimit,
	"SaveSchedule":      store.Store.SaveSchedule,
	"SetEndpoint":       store.Store.SetEndpoint,
	"SetFeed":           store.Store.SetFeed,
	"SetQueue":          store.Store.SetQueue,
	"SetRetention":      store.Store.SetRetention,
	"SweepCancels":      store.Store.SweepCancels,
	"TakePermits":       store.Store.TakePermits,
	"UseAPIKeys":        store.Store.UseAPIKeys,
}

// elsewhere are the methods that no request has: they need a transaction of the caller, or are
// answered by the client, or are the stream and the notes beside the methods.
var elsewhere = []string{
	"AppendTx", "CancelTx", "Close", "EnqueueTx", "FinishTx", "Notify", "Now", "RetryTx", "SendTx", "Traits", "Watch",
}

// method is one of the contract.
type method struct {
	name string
	only bool // it only reads
	// call calls it with the parameters that decode reads, and returns a *wire.Out. The error is
	// that of decode.
	call func(ctx context.Context, st store.Store, decode func(any) error) (out any, err error)
}

// methods returns those that are served, by the last part of their paths. The tables have method
// expressions and no names to be looked up: if a program looks for methods by their names while it
// runs, the linker keeps all exported methods of all types: the command was an eighth larger.
func methods() map[string]*method {
	table := map[string]*method{}
	add := func(methods map[string]any, only bool) {
		for name, of := range methods {
			served := &method{name: name, only: only, call: special[name]}
			if served.call == nil {
				served.call = reflected(served, of)
			}
			table[wire.Path(name)[len(wire.Prefix):]] = served
		}
	}
	add(reads, true)
	add(writes, false)
	return table
}

// names are those of the fields of wire.In.
var names = []string{"A", "B", "C", "D"}

// reflected calls a method of the contract, given as its expression, that has a context and plain
// parameters, and returns at most two values and an error.
func reflected(m *method, call any) func(context.Context, store.Store, func(any) error) (any, error) {
	f := reflect.ValueOf(call)
	var in, out []reflect.StructField
	for i := 2; i < f.Type().NumIn(); i++ { // after the store and the context
		in = append(in, reflect.StructField{Name: names[i-2], Type: f.Type().In(i)})
	}
	results := f.Type().NumOut() - 1 // beside the error
	for i := range results {
		out = append(out, reflect.StructField{Name: names[i], Type: f.Type().Out(i)})
	}
	out = append(out, errField, nowField)
	inType, outType := reflect.StructOf(in), reflect.StructOf(out)
	return func(ctx context.Context, st store.Store, decode func(any) error) (any, error) {
		params := reflect.New(inType)
		if err := decode(params.Interface()); err != nil {
			return nil, err
		}
		args := []reflect.Value{reflect.ValueOf(st), reflect.ValueOf(ctx)}
		for i := range in {
			args = append(args, params.Elem().Field(i))
		}
		if !m.only {
			ascribe(ctx, m.name, args[2:])
		}
		answers := reflect.New(outType)
		for i, v := range f.Call(args) {
			answers.Elem().Field(i).Set(v) // the last one is the error
		}
		return answers.Interface(), nil
	}
}

// The last fields of wire.Out.
var (
	errField = field("Err")
	nowField = field("Now")
)

func field(name string) reflect.StructField {
	f, _ := reflect.TypeFor[wire.Out[wire.None, wire.None]]().FieldByName(name)
	return reflect.StructField{Name: f.Name, Type: f.Type}
}

// parts are the error and the time of a pointer to a wire.Out, or to what reflected has made like
// one.
func parts(out any) (err *error, now *time.Time) {
	v := reflect.ValueOf(out).Elem()
	err, _ = reflect.TypeAssert[*error](v.FieldByName("Err").Addr())
	now, _ = reflect.TypeAssert[*time.Time](v.FieldByName("Now").Addr())
	return err, now
}
