package crashtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
	"github.com/holdfastdev/holdfast/store/remote"
)

// serverEnv makes the test binary a server; its value is a serverConfig as JSON.
const serverEnv = "HOLDFAST_CRASHTEST_SERVER"

type serverConfig struct {
	Name     string        `json:"name"`
	Database string        `json:"database"`
	Socket   string        `json:"socket"`
	Beat     time.Duration `json:"beat"`
	Dead     time.Duration `json:"dead"`
}

// runServer serves a database until somebody kills it. It is a node that runs nothing of ours, as
// "holdfast server" is.
func runServer(config string) error {
	var s serverConfig
	if err := json.Unmarshal([]byte(config), &s); err != nil {
		return err
	}
	source, err := dsn.Parse(s.Database)
	if err != nil {
		return err
	}
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	client, err := holdfast.Open(ctx, source, holdfast.WithNodeName(s.Name), holdfast.WithLeases(s.Beat, s.Dead), holdfast.WithLogger(log))
	if err != nil {
		return err
	}
	idle := holdfast.NewKind[int, int]("of servers")
	if err := idle.Handle(client, func(*holdfast.Run, int) (int, error) { return 0, nil }); err != nil {
		return err
	}
	handler, err := server.Handler(client, server.Options{Authenticate: access.Anyone("anyone"), Log: log})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", s.Socket)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- client.Run(ctx) }()
	go func() { ended <- (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}).Serve(listener) }()
	return <-ended
}

// sourceOf is how workers and clients of a configuration reach the database.
func sourceOf(config *workerConfig) (store.Source, error) {
	if config.Server != "" {
		return remote.Server(config.Server, ""), nil
	}
	return dsn.Parse(config.Database)
}
