package main

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"strings"
	"time"
)

//go:embed schema.sql
var schema string

const (
	slots = 60 // jobs a claim record holds
	node  = 1
	lane  = 1
)

// hotpath is the statements of the store's hot path, prepared once on one connection.
type hotpath struct {
	c                                        conn
	begin, commit                            stmt
	insertJob, insertReady                   stmt
	read, take, insertClaim                  stmt
	finishClaim, removeClaim, insertFinished stmt
	seq                                      int64
	ids                                      idSource
	args                                     []byte
}

// claimed is what a claim hands out for one job.
type claimed struct {
	id              [16]byte
	seq             int64
	slot            int
	runAt           int64
	lease, attempt  int64
	args            []byte
	codec, metadata string
}

func newHotpath(c conn, v variant, with setting) (*hotpath, error) {
	pragmas := with.extra + "; PRAGMA journal_mode=WAL; PRAGMA synchronous=" + v.synchronous + "; PRAGMA cache_size=-65536;"
	rowid := ""
	if v.withoutRowid {
		rowid = "WITHOUT ROWID"
	}
	if err := c.script(pragmas); err != nil {
		return nil, err
	}
	if err := c.script(strings.ReplaceAll(schema, "{{ROWID}}", rowid) + with.index); err != nil {
		return nil, err
	}
	h := &hotpath{c: c, args: bytes.Repeat([]byte("x"), with.payload)}
	for _, p := range []struct {
		into *stmt
		sql  string
	}{
		{&h.begin, "BEGIN IMMEDIATE"},
		{&h.commit, "COMMIT"},
		{&h.insertJob, `INSERT INTO job (id, lane, run_at, created_at, lease, attempt, max_attempts, args, codec)
			VALUES (?, ?, ?, ?, 0, 0, ?, ?, ?) ON CONFLICT DO NOTHING`},
		{&h.insertReady, "INSERT INTO ready (lane, run_at, id) VALUES (?, ?, ?)"},
		{&h.read, `SELECT r.id, r.run_at, j.created_at, j.lease, j.attempt, j.max_attempts, j.args, j.codec,
				j.options, j.tags, j.metadata, j.ordering_key
			FROM ready r CROSS JOIN job j ON j.id = r.id
			WHERE r.lane = ? AND r.run_at <= ? ORDER BY r.run_at, r.id LIMIT ?`},
		// One writer: what was just read is still the head of the lane, so the pointers go with one range delete.
		{&h.take, "DELETE FROM ready WHERE lane = ? AND (run_at, id) <= (?, ?)"},
		{&h.insertClaim, "INSERT INTO claim (node, seq, claimed_at, ids, done, all_slots) VALUES (?, ?, ?, ?, 0, ?)"},
		{&h.finishClaim, `UPDATE claim SET done = done | ?3 WHERE node = ?1 AND seq = ?2 AND done & ?3 = 0
			RETURNING done = all_slots`},
		{&h.removeClaim, "DELETE FROM claim WHERE node = ? AND seq = ?"},
		{&h.insertFinished, `INSERT INTO finished (id, lane, state, attempt, lease, node, claimed_at, finished_at, result)
			VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)`},
	} {
		s, err := c.prepare(p.sql)
		if err != nil {
			return nil, err
		}
		*p.into = s
	}
	return h, nil
}

// returnsRows tells the database/sql adapter which of the texts above are queries.
func returnsRows(sql string) bool {
	return strings.HasPrefix(sql, "SELECT") || strings.Contains(sql, "RETURNING")
}

func run(s stmt) {
	_, err := s.step()
	must(err)
	must(s.reset())
}

// enqueue inserts n jobs in one transaction.
func (h *hotpath) enqueue(n int) {
	now := time.Now().UnixMicro()
	run(h.begin)
	for range n {
		id := h.ids.next(now)
		s := h.insertJob
		s.bindBytes(1, id[:])
		s.bindInt(2, lane)
		s.bindInt(3, now)
		s.bindInt(4, now)
		s.bindInt(5, 25)
		s.bindBytes(6, h.args)
		s.bindText(7, "json")
		run(s)
		s = h.insertReady
		s.bindInt(1, lane)
		s.bindInt(2, now)
		s.bindBytes(3, id[:])
		run(s)
	}
	run(h.commit)
}

// claim takes up to n jobs in one transaction.
func (h *hotpath) claim(n int) []claimed {
	now := time.Now().UnixMicro()
	run(h.begin)
	out := make([]claimed, 0, n)
	s := h.read
	s.bindInt(1, lane)
	s.bindInt(2, now)
	s.bindInt(3, int64(n))
	for {
		row, err := s.step()
		must(err)
		if !row {
			break
		}
		if len(out)%slots == 0 {
			h.seq++
		}
		j := claimed{runAt: s.colInt(1), lease: s.colInt(3) + 1, attempt: s.colInt(4) + 1, args: s.colBytes(6), codec: s.colText(7),
			metadata: s.colText(10), seq: h.seq, slot: len(out) % slots}
		copy(j.id[:], s.colBytes(0))
		out = append(out, j)
	}
	must(s.reset())
	if len(out) > 0 {
		last := out[len(out)-1]
		s = h.take
		s.bindInt(1, lane)
		s.bindInt(2, last.runAt)
		s.bindBytes(3, last.id[:])
		run(s)
	}
	var ids []byte
	for i, j := range out {
		ids = append(ids, j.id[:]...)
		if i == len(out)-1 || out[i+1].seq != j.seq {
			s = h.insertClaim
			s.bindInt(1, node)
			s.bindInt(2, j.seq)
			s.bindInt(3, now)
			s.bindBytes(4, ids)
			s.bindInt(5, 1<<(j.slot+1)-1)
			run(s)
			ids = ids[:0]
		}
	}
	run(h.commit)
	return out
}

// finish completes jobs in one transaction.
func (h *hotpath) finish(jobs []claimed) {
	now := time.Now().UnixMicro()
	run(h.begin)
	for start := 0; start < len(jobs); {
		end, mask := start, int64(0)
		for ; end < len(jobs) && jobs[end].seq == jobs[start].seq; end++ {
			mask |= 1 << jobs[end].slot
		}
		s := h.finishClaim
		s.bindInt(1, node)
		s.bindInt(2, jobs[start].seq)
		s.bindInt(3, mask)
		matched, err := s.step()
		must(err)
		if !matched {
			panic("stale lease")
		}
		whole := s.colInt(0) != 0
		if row, err := s.step(); row || err != nil {
			panic("one row expected")
		}
		must(s.reset())
		if whole {
			s = h.removeClaim
			s.bindInt(1, node)
			s.bindInt(2, jobs[start].seq)
			run(s)
		}
		for _, j := range jobs[start:end] {
			s = h.insertFinished
			s.bindBytes(1, j.id[:])
			s.bindInt(2, lane)
			s.bindInt(3, j.attempt)
			s.bindInt(4, j.lease)
			s.bindInt(5, node)
			s.bindInt(6, now)
			s.bindInt(7, now)
			s.bindBytes(8, []byte(`{"ok":true}`))
			run(s)
		}
		start = end
	}
	run(h.commit)
}

// idSource makes UUIDv7 ids that rise within a process.
type idSource struct{ counter uint64 }

func (g *idSource) next(nowMicro int64) (id [16]byte) {
	g.counter++
	_, _ = rand.Read(id[8:])
	binary.BigEndian.PutUint64(id[:8], uint64(nowMicro/1000)<<16|g.counter&0xfff)
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
