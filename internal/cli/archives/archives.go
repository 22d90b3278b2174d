// Package archives has the verbs that read archived jobs back, from files.
//
// This package imports archive and store, and of internal/cli the base of all verbs.
package archives

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/archive"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

type verbs struct{ *app.App }

// Command is the command on archives.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("archive", "Read jobs that were archived before they were removed",
		`Read the files into which nodes with --archive write finished jobs before they remove them: gzip
files of JSON lines, one job a line. No database is opened.`,
		`  holdfast archive cat archive/2026/11/27/*.jsonl.gz | jq -r .job.kind
  holdfast archive find `+arg.ExampleID+` archive`)
	cmd.AddCommand(v.catCommand(), v.findCommand())
	return cmd
}

func (a verbs) catCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "cat PATH...",
		Short:       "Print archived jobs as JSON lines",
		Long:        `Print the jobs of archived files, one a line, as JSON. A directory stands for all files in it.`,
		Example:     `  holdfast archive cat archive/2026/11/27 | jq -c '{id: .job.id, state: .job.state}'`,
		Args:        arg.Takes(1, -1),
		Annotations: app.Uses(app.FlagCodecKeys, app.FlagRedact),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			lines := json.NewEncoder(cmd.OutOrStdout())
			return a.each(ctx, args, func(_ string, j *archive.Job) error {
				return lines.Encode(j) //nolint:musttag // records have a form of their own
			})
		}),
	}
}

var errFound = errors.New("found")

func (a verbs) findCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "find JOB PATH...",
		Short: "Print an archived job",
		Long: `Print the line of a job, the first that there is, from files, or from all files in directories. JOB
is the whole id. They are read until it is found: give the directory of the day on which it was
removed, if you know it.`,
		Example:     `  holdfast archive find ` + arg.ExampleID + ` archive/2026/11`,
		Args:        arg.Takes(2, -1),
		Annotations: app.Uses(app.FlagCodecKeys, app.FlagRedact),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			id, err := arg.ParseWholeID(args[0])
			if err != nil {
				return err
			}
			err = a.each(ctx, args[1:], func(_ string, j *archive.Job) error {
				if j.Job.ID != id {
					return nil
				}
				return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(j), errFound) //nolint:musttag // as above
			})
			switch {
			case err == nil:
				return fmt.Errorf("job %s is in none of these files", id)
			case errors.Is(err, errFound):
				return nil
			}
			return err
		}),
	}
}

// each calls f for all jobs of files, and of all files in directories, with the name of the file.
func (a verbs) each(ctx context.Context, paths []string, f func(string, *archive.Job) error) error {
	c, err := a.Codec()
	if err != nil {
		return err
	}
	plain := func(path string, j *archive.Job) error {
		if c != nil {
			j.Decode(ctx, c)
		}
		a.hide(j)
		return f(path, j)
	}
	for _, path := range paths {
		files, err := archive.Files(path)
		if info, statErr := os.Stat(path); err == nil && statErr == nil && !info.IsDir() {
			files = []string{path}
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := ofFile(ctx, file, plain); err != nil {
				return err
			}
		}
	}
	return nil
}

// hide hides in what was kept of a job what people are not to see.
func (a verbs) hide(j *archive.Job) {
	a.HideRecord(&j.Job)
	if j.Journal != nil {
		for i := range j.Journal.Entries {
			e := &j.Journal.Entries[i]
			e.Data = a.Hide(e.Data, e.Codec)
		}
		for i := range j.Journal.Messages {
			m := &j.Journal.Messages[i]
			m.Data = a.Hide(m.Data, m.Codec)
		}
	}
	for _, run := range j.Logs {
		for i, line := range run.Lines {
			run.Lines[i] = string(a.Hide([]byte(line), 0))
		}
	}
}

func ofFile(ctx context.Context, path string, f func(string, *archive.Job) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	err = archive.Read(file, func(j *archive.Job) error { return errors.Join(ctx.Err(), f(path, j)) })
	if err != nil && !errors.Is(err, errFound) && ctx.Err() == nil {
		return fmt.Errorf("%s is no whole file of an archive, or cannot be read: %w", output.OneLine(path), err)
	}
	return err
}
