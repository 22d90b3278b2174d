package gateway

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

// reads are the methods that change nothing, which a server that only reads has.
var reads = []string{
	"APIKey", "APIKeys", "AttemptsOfQueues", "AwaitTx", "Batches", "Busy", "Count", "DeadGroups", "DeclaredAttributes", "Descriptors",
	"DueSchedules", "Ended", "Entries", "Expired", "Facts", "FeedStatus", "Find", "Get", "GetUpdate", "Journals", "Limits", "List", "Logs",
	"Measure", "Messages", "Namespaces", "NextOf", "Nodes", "Obstacles", "OpenUpdates", "Queues", "ReadFeed", "Removed", "RetentionClasses",
	"RunningOf", "ScheduleRuns", "Schedules", "StuckKeys", "Unserved", "WaitingOfKeys",
}

// writes are the methods that may change something.
var writes = []string{
	"Apply", "AskNode", "Beat", "Cancel", "Claim", "CloseBatch", "CloseChildren", "CountBatches", "CreateAPIKey", "CreateBatch",
	"CreateNamespace", "DeclareAttributes", "Delete", "DeleteLimit", "DeleteNamespace", "DeleteQueue", "DeleteRetention", "DeleteSchedule",
	"Depend", "Describe", "Drain", "Edit", "Finish", "ForgetUpdate", "Fork", "Grant", "Join", "KeepFacts", "KeepLogs", "Leave",
	"MergeFacts", "OrderFeed", "Pause", "PauseJobs", "Promote", "RemoveAttribute", "RemoveExpired", "Rescue", "Reserve", "Rest", "Resume",
	"ResumeLimit", "Retain", "Retry", "RevokeAPIKey", "SaveLimit", "SaveSchedule", "SetFeed", "SetQueue", "SetRetention", "SweepCancels",
	"TakePermits", "UseAPIKeys",
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

// methods returns those that are served, by the last part of their paths.
func methods() map[string]*method {
	table := map[string]*method{}
	of := reflect.TypeFor[store.Store]()
	for m := range of.Methods() {
		only := slices.Contains(reads, m.Name)
		if !only && !slices.Contains(writes, m.Name) {
			continue
		}
		served := &method{name: m.Name, only: only, call: special[m.Name]}
		if served.call == nil {
			served.call = reflected(m)
		}
		table[wire.Path(m.Name)[len(wire.Prefix):]] = served
	}
	return table
}

// names are those of the fields of wire.In.
var names = []string{"A", "B", "C", "D"}

// reflected calls a method that has a context and plain parameters, and returns at most two values
// and an error.
func reflected(m reflect.Method) func(context.Context, store.Store, func(any) error) (any, error) {
	var in, out []reflect.StructField
	for i := 1; i < m.Type.NumIn(); i++ {
		in = append(in, reflect.StructField{Name: names[i-1], Type: m.Type.In(i)})
	}
	results := m.Type.NumOut() - 1 // beside the error
	for i := range results {
		out = append(out, reflect.StructField{Name: names[i], Type: m.Type.Out(i)})
	}
	out = append(out, errField, nowField)
	inType, outType := reflect.StructOf(in), reflect.StructOf(out)
	return func(ctx context.Context, st store.Store, decode func(any) error) (any, error) {
		params := reflect.New(inType)
		if err := decode(params.Interface()); err != nil {
			return nil, err
		}
		args := []reflect.Value{reflect.ValueOf(ctx)}
		for i := range in {
			args = append(args, params.Elem().Field(i))
		}
		answers := reflect.New(outType)
		for i, v := range reflect.ValueOf(st).MethodByName(m.Name).Call(args) {
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
