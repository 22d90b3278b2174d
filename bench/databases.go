package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/bench/internal/cluster"
	"github.com/holdfastdev/holdfast/bench/internal/scratch"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// databases makes empty databases, one for each measurement.
type databases struct {
	files   *scratch.Dir // of the SQLite databases
	cluster *cluster.Cluster
	server  string // the URL of a server that is not ours
	admin   *pgx.Conn
}

// prepare starts what the stores need.
func prepare(ctx context.Context, s settings) (*databases, error) {
	d := &databases{server: s.database}
	var err error
	if d.files, err = scratch.New(s.dir); err != nil {
		return nil, err
	}
	if inMemory(d.files.Path) {
		fmt.Fprintf(os.Stderr, "bench: %s is in memory: nothing is durable there, and the figures mean little; use --dir\n", d.files.Path)
	}
	for _, store := range s.stores {
		if store == system.Postgres {
			if err := d.connect(ctx, s.dir); err != nil {
				return nil, errors.Join(err, d.close(ctx))
			}
		}
	}
	return d, nil
}

func (d *databases) connect(ctx context.Context, dir string) (err error) {
	url := d.server
	if url == "" {
		if d.cluster, err = cluster.Start(ctx, dir); err != nil {
			return err
		}
		url = d.cluster.URL("postgres")
	}
	d.admin, err = pgx.Connect(ctx, url)
	return err
}

// create makes an empty database and returns what removes it.
func (d *databases) create(ctx context.Context, store string) (system.Database, func(context.Context) error, error) {
	name := "bench_" + random()
	if store == system.SQLite {
		path := filepath.Join(d.files.Path, name+".db")
		return system.Database{Store: store, URL: path}, func(context.Context) error { return removeAll(path) }, nil
	}
	if _, err := d.admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		return system.Database{}, nil, err
	}
	db := system.Database{Store: store}
	if d.cluster != nil {
		db.URL = d.cluster.URL(name)
	} else {
		u, err := url.Parse(d.server)
		if err != nil {
			return db, nil, fmt.Errorf("--database is not a URL: %w", err)
		}
		u.Path = "/" + name
		db.URL = u.String()
	}
	return db, func(ctx context.Context) error {
		_, err := d.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		return err
	}, nil
}

// removeAll removes a SQLite database and what lies beside it.
func removeAll(path string) error {
	beside, err := filepath.Glob(path + "*")
	for _, file := range beside {
		err = errors.Join(err, os.RemoveAll(file))
	}
	return err
}

func (d *databases) close(ctx context.Context) error {
	var errs []error
	if d.admin != nil {
		errs = append(errs, d.admin.Close(ctx))
	}
	if d.cluster != nil {
		errs = append(errs, d.cluster.Close())
	}
	return errors.Join(append(errs, d.files.Close())...)
}

func random() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
