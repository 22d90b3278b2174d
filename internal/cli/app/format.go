package app

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// ReadFormat checks --output. With --quiet, a verb whose output has ids prints only these, unless
// --output says otherwise.
func (a *App) ReadFormat(cmd *cobra.Command) error {
	printsIDs := cmd.Annotations[idsKey] != ""
	switch {
	case a.Asked == "":
		if a.Quiet && printsIDs {
			a.Asked = output.FormatID
		}
	case !slices.Contains(output.Formats, a.Asked):
		last := len(output.Formats) - 1
		return arg.Usagef("--output %q: the formats are %s and %s", a.Asked, strings.Join(output.Formats[:last], ", "), output.Formats[last])
	case (a.Asked == output.FormatID || a.Asked == output.FormatName) && !printsIDs && UsesFlag(cmd, FlagOutput):
		return arg.Usagef("--output %s: the output of %s has no ids", a.Asked, cmd.CommandPath())
	}
	return nil
}

// ColumnsFlag is the flag of a list that chooses its columns.
type ColumnsFlag struct {
	list   string
	view   any
	header []string
}

// FlagColumns is its name.
const FlagColumns = "columns"

// Add adds the flag to a verb whose list has elements like view, and a table with this header.
func (f *ColumnsFlag) Add(cmd *cobra.Command, view any, header ...string) {
	f.view, f.header = view, header
	cmd.Flags().StringVar(&f.list, FlagColumns, "", "print only these `COLUMNS` of the table, or fields of the JSON, separated by commas")
	cmd.Flags().Lookup(FlagColumns).Annotations = map[string][]string{columnsKey: output.ColumnNames(view, header...)}
}

// List starts the list.
func (a *App) List(f *ColumnsFlag) (*output.List, error) {
	out := a.NewList(f.header...)
	if f.list == "" {
		return out, nil
	}
	if err := out.ChooseColumns(f.list, f.view); err != nil {
		return nil, arg.Usagef("--%s: %w", FlagColumns, err)
	}
	return out, nil
}

// columnsKey is the annotation of the flag with the names that it takes for a table.
const columnsKey = "columns"

// ColumnNames returns the columns that a verb has for a table.
func ColumnNames(cmd *cobra.Command) []string {
	if f := cmd.Flags().Lookup(FlagColumns); f != nil {
		return f.Annotations[columnsKey]
	}
	return nil
}
