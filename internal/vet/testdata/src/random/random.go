// Package random has functions that make random numbers and UUIDs.
package random

import (
	"context"
	crand "crypto/rand"
	"io"
	orand "math/rand"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast"
)

func wrong(run *holdfast.Run, in int) (int, error) {
	n := rand.IntN(6)                        // want `^rand\.IntN differs on every replay; use run\.Random$`
	n += rand.N(6)                           // want `rand\.N differs on every`
	n += orand.Intn(6)                       // want `rand\.Intn differs on every`
	orand.Shuffle(1, func(i, j int) {})      // want `rand\.Shuffle`
	_, _ = crand.Read(nil)                   // want `^rand\.Read differs on every replay; use run\.Random or run\.UUID, or a Step if it is secret$`
	_, _ = io.ReadFull(crand.Reader, nil)    // want `rand\.Reader`
	_ = uuid.New()                           // want `^uuid\.New differs on every replay; use run\.UUID$`
	_ = uuid.NewString()                     // want `uuid\.NewString`
	_ = uuid.Must(uuid.NewV7())              // want `uuid\.NewV7`
	_ = holdfast.NewID()                     // want `^holdfast\.NewID differs on every replay; use run\.UUID$`
	return n, run.Publish("n", rand.Perm(n)) // want `rand\.Perm`
}

func right(run *holdfast.Run, in int) (int, error) {
	random, err := run.Random()
	if err != nil {
		return 0, err
	}
	id, err := run.UUID()
	if err != nil {
		return 0, err
	}
	_ = uuid.NewSHA1(id, nil)
	seeded := rand.New(rand.NewPCG(1, uint64(in)))
	var old *orand.Rand = orand.New(orand.NewSource(1))
	n, err := holdfast.Step(run, "dice", func(context.Context) (int, error) {
		_ = uuid.New()
		_, err := crand.Read(nil)
		return rand.IntN(6), err
	})
	return n + random.IntN(6) + seeded.IntN(6) + old.Intn(6), err
}
