package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil:
	case errors.Is(err, errUsage):
		os.Exit(64)
	default:
		if !errors.Is(err, errFailed) {
			fmt.Fprintln(os.Stderr, "suite:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "test" {
		return test(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "soak" {
		return soak(ctx, args[1:])
	}
	fmt.Fprintln(os.Stderr, "usage: suite test|soak; scripts/test and scripts/soak call it")
	return errUsage
}
