package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/scenario"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// envPart names the part of a process that was started by this package.
const envPart = "HOLDFAST_BENCH_PART"

// The parts.
const (
	partMeasure = "measure"
	partNode    = "node"
)

// Spec is what is to be measured.
type Spec struct {
	System    string            `json:"system"`
	Scenario  string            `json:"scenario"`
	Databases []system.Database `json:"databases"` // as many as the scenario has parts
	Sizes     scenario.Sizes    `json:"sizes"`
}

// Answer is what came out.
type Answer struct {
	Sample   figures.Sample    `json:"sample"`
	Versions map[string]string `json:"versions"`
	Settings map[string]string `json:"settings"`
	Error    string            `json:"error,omitempty"`
}

// Program is one that measures: its main calls Serve with the systems that it has.
type Program struct {
	Path string
	Args []string
}

// command starts the program in one of its parts.
func (p Program) command(ctx context.Context, part string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Env = append(os.Environ(), envPart+"="+part)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Measure has the program measure.
func (p Program) Measure(ctx context.Context, spec Spec) (Answer, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return Answer{}, err
	}
	cmd := p.command(ctx, partMeasure)
	// Its input stays open as long as we want the answer.
	in, err := cmd.StdinPipe()
	if err != nil {
		return Answer{}, err
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return Answer{}, err
	}
	_, err = in.Write(append(text, '\n'))
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return Answer{}, fmt.Errorf("%s: %w", p.Path, err)
	}
	var answer Answer
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return Answer{}, fmt.Errorf("%s answered %q: %w", p.Path, out.String(), err)
	}
	if answer.Error != "" {
		return Answer{}, errors.New(answer.Error)
	}
	return answer, nil
}

// Serve plays the part that the process was started for, and tells whether it had one.
func Serve(ctx context.Context, systems []system.System) bool {
	var err error
	switch os.Getenv(envPart) {
	case partMeasure:
		err = serveMeasure(ctx, systems, os.Stdin, os.Stdout)
	case partNode:
		err = serveNode(ctx, systems, os.Stdin, os.Stdout)
	default:
		return false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	return true
}

func serveMeasure(ctx context.Context, systems []system.System, in io.Reader, out io.Writer) error {
	var spec Spec
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(&spec); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		var more any
		_ = decoder.Decode(&more) // it ends when nobody is there any more who wants an answer
		cancel()
	}()
	answer, err := measure(ctx, systems, spec)
	if err != nil {
		answer.Error = err.Error()
	}
	return json.NewEncoder(out).Encode(answer)
}

func measure(ctx context.Context, systems []system.System, spec Spec) (Answer, error) {
	sys, err := find(systems, spec.System)
	if err != nil {
		return Answer{}, err
	}
	s, err := scenario.Find(spec.Scenario)
	if err != nil {
		return Answer{}, err
	}
	executable, err := os.Executable()
	if err != nil {
		return Answer{}, err
	}
	env := &scenario.Env{System: sys, Databases: spec.Databases, Sizes: spec.Sizes}
	env.StartNode = func(ctx context.Context, db system.Database) (scenario.Node, error) {
		of := spec
		of.Databases = []system.Database{db}
		return startNode(ctx, Program{Path: executable, Args: os.Args[1:]}, of)
	}
	sample, settings, err := s.Measure(ctx, env)
	return Answer{Sample: sample, Settings: settings, Versions: versions()}, err
}

func find(systems []system.System, name string) (system.System, error) {
	i := slices.IndexFunc(systems, func(s system.System) bool { return s.Name() == name })
	if i < 0 {
		return nil, fmt.Errorf("this program has no system %q", name)
	}
	return systems[i], nil
}
