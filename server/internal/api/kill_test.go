package api_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// serveEnv is the database that this program serves until it is killed.
const serveEnv = "HOLDFAST_TEST_SERVE"

func sourceOf(text string) store.Source {
	if strings.HasPrefix(text, "postgres:") {
		return postgres.URL(text)
	}
	return sqlite.File(text)
}

func serve(source string) int {
	client, err := holdfast.Open(context.Background(), sourceOf(source))
	if err == nil {
		var handler http.Handler
		if handler, err = server.Handler(client, server.Options{Authenticate: access.Anyone("tester")}); err == nil {
			var l net.Listener
			if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
				fmt.Println("http://" + l.Addr().String())
				err = http.Serve(l, handler)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
