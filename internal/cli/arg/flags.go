package arg

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// CheckValues applies the rule for all flags and arguments: what is given has a value. An empty
// value is an unset variable of a script, or a mistake; it never means "not given".
func CheckValues(cmd *cobra.Command, args []string) error {
	words := strings.Fields(cmd.Use)[1:]
	if _, given, err := KeyOf(cmd, args); given && err == nil {
		words = words[1:]
	}
	for i, arg := range args {
		if strings.TrimSpace(arg) == "" && len(words) > 0 {
			return Usagef("%s is empty", strings.Trim(words[min(i, len(words)-1)], "[.]"))
		}
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && slices.ContainsFunc(ValuesOf(f), func(v string) bool { return strings.TrimSpace(v) == "" }) {
			err = Usagef("--%s is empty", f.Name)
		}
	})
	return err
}

// ValuesOf returns the values of a flag that may be repeated.
func ValuesOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// SetValues replaces the values of a flag that was given.
func SetValues(f *pflag.Flag, values []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	return f.Value.Set(values[0])
}

// groupKey is where cobra keeps the groups of flags that exclude each other.
const groupKey = "cobra_annotation_mutually_exclusive"

// CheckGroups refuses flags that exclude each other, with a better message than cobra's.
func CheckGroups(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations[groupKey] {
			for name := range strings.FieldsSeq(group) {
				if err == nil && name != f.Name && cmd.Flags().Changed(name) {
					err = Usagef("--%s and --%s cannot be used together", f.Name, name)
				}
			}
		}
	})
	return err
}

// FlagError explains in our terms what is wrong with a flag.
func FlagError(cmd *cobra.Command, err error) error {
	var (
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
		unknown *pflag.NotExistError
	)
	switch {
	case errors.As(err, &unknown) && isNumber("-"+unknown.GetSpecifiedShortnames()):
		return Usagef("-%s looks like a flag; to pass it as an argument, put -- before it", unknown.GetSpecifiedShortnames())
	case errors.As(err, &missing):
		return Usagef("--%s needs a value", missing.GetFlag().Name)
	case errors.As(err, &value):
		return ValueError("--"+value.GetFlag().Name, value.GetFlag(), value.GetValue(), err)
	case unknown != nil:
		if near := flagsLike(cmd, unknown.GetSpecifiedName()); len(near) > 0 {
			return Usagef("%w; did you mean %s?", err, output.Or(near))
		}
	}
	return Usage(err)
}

// flagsLike are the flags of a command that one may have meant, if there are not many: cobra finds
// them as it finds commands.
func flagsLike(cmd *cobra.Command, typed string) []string {
	if len(typed) < 3 {
		return nil
	}
	names := &cobra.Command{SuggestionsMinimumDistance: min(len(typed)/3, 2)}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	near := names.SuggestionsFor(typed)
	if len(near) > 3 {
		return nil
	}
	for i := range near {
		near[i] = "--" + near[i]
	}
	return near
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// ValueError explains why a flag does not take a text. name is where the text comes from: the flag
// itself, or a variable.
func ValueError(name string, f *pflag.Flag, text string, err error) error {
	var ours *UsageError
	switch {
	case text == "":
		return Usagef("%s is empty", name)
	case errors.As(err, &ours):
		return Usagef("%s: %w", name, ours)
	case f.Value.Type() == "bool":
		return Usagef("%s=%s: must be true or false", name, text)
	case errors.Is(err, strconv.ErrRange):
		return Usagef("%s %q is out of range", name, text)
	case strings.HasPrefix(f.Value.Type(), "int"):
		return Usagef("%s %q is not an integer", name, text)
	case strings.HasPrefix(f.Value.Type(), "float"):
		return Usagef("%s %q is not a number", name, text)
	}
	return Usage(err)
}
