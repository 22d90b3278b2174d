package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usage writes how a command is used: cobra's text without aliases, and without the usage line of
// groups. It is no template, as templates look for methods by their names: of a program that does
// so the linker keeps all exported methods of all types, and the command was an eighth larger.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n  ")
	if cmd.HasAvailableSubCommands() {
		b.WriteString(cmd.CommandPath() + " COMMAND")
	} else {
		b.WriteString(cmd.UseLine())
	}
	part := func(title, text string) { b.WriteString("\n\n" + title + ":\n" + text) }
	if cmd.HasExample() {
		part("Examples", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		part("Commands", strings.Join(commandLines(cmd), "\n"))
	}
	if cmd.HasAvailableLocalFlags() {
		part("Flags", trimmed(cmd.LocalFlags().FlagUsages()))
	}
	if cmd.HasAvailableInheritedFlags() {
		part("Global flags", trimmed(cmd.InheritedFlags().FlagUsages()))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nRun %q for more about a command.", cmd.CommandPath()+" COMMAND --help")
	}
	_, err := fmt.Fprintln(cmd.OutOrStderr(), b.String())
	return err
}

// commandLines are the commands of a group, with what each does.
func commandLines(cmd *cobra.Command) (lines []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			lines = append(lines, fmt.Sprintf("  %-*s %s", c.NamePadding(), c.Name(), c.Short))
		}
	}
	return lines
}

func trimmed(text string) string { return strings.TrimRight(text, " \t\n") }
