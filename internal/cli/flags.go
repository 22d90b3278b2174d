package cli

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkValues is the one rule for what every verb is given: a flag or an argument that is there has
// a value. What is empty is a variable of a script that is not set, or a mistake; it never means
// "not given".
func checkValues(cmd *cobra.Command, args []string) error {
	words := strings.Fields(cmd.Use)[1:]
	for i, arg := range args {
		if strings.TrimSpace(arg) == "" && len(words) > 0 {
			return usagef("%s is empty", strings.Trim(words[min(i, len(words)-1)], "[.]"))
		}
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && slices.ContainsFunc(valuesOf(f), func(v string) bool { return strings.TrimSpace(v) == "" }) {
			err = usagef("--%s is empty", f.Name)
		}
	})
	return err
}

// valuesOf returns what a flag was given, once or several times.
func valuesOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// groupKey is where cobra keeps the groups of flags that exclude each other.
const groupKey = "cobra_annotation_mutually_exclusive"

// checkGroups refuses flags that exclude each other, before cobra does so in words of its own.
func checkGroups(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations[groupKey] {
			for name := range strings.FieldsSeq(group) {
				if err == nil && name != f.Name && cmd.Flags().Changed(name) {
					err = usagef("--%s and --%s cannot be used together", f.Name, name)
				}
			}
		}
	})
	return err
}

// flagError says in our words what is wrong with a flag.
func flagError(_ *cobra.Command, err error) error {
	var (
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &missing):
		return usagef("--%s needs a value", missing.GetFlag().Name)
	case errors.As(err, &value) && value.GetValue() == "":
		return usagef("--%s is empty", value.GetFlag().Name)
	case errors.As(err, &value):
		f := value.GetFlag()
		var ours *usageError
		switch {
		case errors.As(err, &ours):
			return usagef("--%s: %w", f.Name, ours)
		case f.Value.Type() == "bool":
			return usagef("--%s=%s: must be true or false", f.Name, value.GetValue())
		case errors.Is(err, strconv.ErrRange):
			return usagef("--%s %q is out of range", f.Name, value.GetValue())
		case strings.HasPrefix(f.Value.Type(), "int"):
			return usagef("--%s %q is not an integer", f.Name, value.GetValue())
		case strings.HasPrefix(f.Value.Type(), "float"):
			return usagef("--%s %q is not a number", f.Name, value.GetValue())
		}
	}
	return &usageError{err}
}

// readDurations makes every flag that is a duration read it as parseDuration does.
func readDurations(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "duration" {
			f.Value = durationValue{f.Value}
			if f.DefValue == "0s" {
				f.DefValue = "0" // which the help leaves out
			}
		}
	})
	for _, c := range cmd.Commands() {
		readDurations(c)
	}
}

// durationValue is the value of a flag that is a duration.
type durationValue struct{ pflag.Value }

func (v durationValue) Set(text string) error {
	if text == "" {
		return errors.New("empty") // flagError says it
	}
	d, err := parseDuration(text)
	if err != nil {
		return err
	}
	return v.Value.Set(d.String())
}

var (
	days     = regexp.MustCompile(`^([+-]?)(\d+)d(.*)$`)
	noUnit   = regexp.MustCompile(`^[+-]?\d+(\.\d+)?$`)
	mostDays = int64(math.MaxInt64 / (24 * time.Hour))
)

// parseDuration reads a duration as Go writes it, such as 1h30m, and also with days in front, such
// as 7d or 1d12h: a day is 24 hours.
func parseDuration(text string) (time.Duration, error) {
	rest, whole, negative := strings.TrimSpace(text), time.Duration(0), false
	if m := days.FindStringSubmatch(rest); m != nil {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil || n > mostDays {
			return 0, usagef("%q is too long", text)
		}
		negative = m[1] == "-"
		whole, rest = time.Duration(n)*24*time.Hour, cmp.Or(m[3], "0s")
		if !strings.ContainsAny(rest[:1], "0123456789.") {
			return 0, notADuration(text)
		}
	}
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil && noUnit.MatchString(rest):
		return 0, usagef("%q has no unit; write %ss, %sm or %sh", text, rest, rest, rest)
	case err != nil:
		return 0, notADuration(text)
	case whole > 0 && d > math.MaxInt64-whole:
		return 0, usagef("%q is too long", text)
	}
	if negative {
		return -(whole + d), nil
	}
	return whole + d, nil
}

func notADuration(text string) error {
	return usagef("%q is not a duration such as 90s, 1h30m or 7d", text)
}

var passwords = regexp.MustCompile(`(?i)(://[^\s:/@]*:)[^\s@]+@|(\b(?:password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'?|(?:[^\s;&'\\]|\\.)+)`)

// withoutPasswords is the last net: a text that is shown holds no password of an address in it.
func withoutPasswords(text string) string {
	return passwords.ReplaceAllStringFunc(text, func(found string) string {
		m := passwords.FindStringSubmatch(found)
		if m[1] != "" {
			return m[1] + "xxxxx@"
		}
		return m[2] + "xxxxx"
	})
}
