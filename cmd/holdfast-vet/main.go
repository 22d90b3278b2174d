// Command holdfast-vet finds mistakes in durable functions. All of it is in internal/vet.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfastdev/holdfast/internal/vet/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := program.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
