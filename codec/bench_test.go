package codec_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// BenchmarkDrain drains 20,000 jobs with a payload of about 200 bytes, and a result, without a
// codec and with AES by turns, so that what else the machine does meets both. It reports jobs in a
// second of each, and how much longer AES takes, in percent.
func BenchmarkDrain(b *testing.B) {
	for name, database := range map[string]func() string{
		"sqlite":   func() string { return b.TempDir() + "/bench.db" },
		"postgres": func() string { return pgtest.Shared(b).Database(b) },
	} {
		b.Run(name, func(b *testing.B) {
			const jobs = 20_000
			var plain, sealed time.Duration
			rounds := 0
			for b.Loop() {
				plain += drain(b, database(), jobs)
				sealed += drain(b, database(), jobs, codec.With(aes(b, keysOf(b, "k1")...)))
				rounds++
			}
			b.ReportMetric(float64(rounds*jobs)/plain.Seconds(), "plain/s")
			b.ReportMetric(float64(rounds*jobs)/sealed.Seconds(), "aes/s")
			b.ReportMetric(100*(sealed.Seconds()/plain.Seconds()-1), "%more")
		})
	}
}

// drain is how long a node takes for jobs that were enqueued before.
func drain(b *testing.B, url string, jobs int, opts ...holdfast.Option) time.Duration {
	b.Helper()
	source, err := dsn.Parse(url)
	if err != nil {
		b.Fatal(err)
	}
	hf, err := holdfast.Open(b.Context(), source, append(opts, holdfast.WithSlots(100))...)
	if err != nil {
		b.Fatal(err)
	}
	kind := holdfast.NewKind[map[string]string, map[string]string]("drain")
	var left atomic.Int64
	left.Store(int64(jobs))
	drained := make(chan struct{})
	err = kind.Handle(hf, func(_ *holdfast.Run, in map[string]string) (map[string]string, error) {
		if left.Add(-1) == 0 {
			close(drained)
		}
		return in, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	ins := make([]map[string]string, jobs)
	for i := range ins {
		ins[i] = map[string]string{"order": strconv.Itoa(i), "name": "Ada Lovelace", "address": fmt.Sprintf("%0150d", i)}
	}
	if _, err := kind.EnqueueMany(b.Context(), hf, ins); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := hf.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	<-drained
	if err := hf.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	if err := hf.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	return took
}

// BenchmarkAES seals and opens a value of 200 bytes.
func BenchmarkAES(b *testing.B) {
	c := aes(b, keysOf(b, "k1")...)
	p := &store.Payload{Purpose: store.PurposeArgs, Namespace: "default", Plain: make([]byte, 200)}
	list := []*store.Payload{p}
	b.SetBytes(200)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Encode(b.Context(), list); err != nil {
			b.Fatal(err)
		}
		if err := c.Decode(b.Context(), list); err != nil || p.Err != nil {
			b.Fatal(err, p.Err)
		}
	}
}
