// Command holdfast runs, feeds and looks at durable jobs. All of it is in internal/cli.
package main

import (
	"os"

	"github.com/holdfastdev/holdfast/internal/cli"
)

func main() { os.Exit(cli.Main()) }
