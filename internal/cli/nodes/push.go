package nodes

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/server"
)

// The flags of what is sent.
const (
	flagPush      = "push"
	flagPushAllow = "push-allow"
	flagPushSlots = "push-slots"
	flagPublicURL = "public-url"
)

// The variables of these flags.
const (
	EnvPush      = "HOLDFAST_PUSH"
	EnvPushAllow = "HOLDFAST_PUSH_ALLOW"
	EnvPushSlots = "HOLDFAST_PUSH_SLOTS"
	EnvPublicURL = "HOLDFAST_PUBLIC_URL"
)

// pushFlags are the flags of what is sent to endpoints and webhooks.
type pushFlags struct {
	push      bool
	allow     []string
	pushSlots int
	publicURL string

	prefixes []netip.Prefix    // of allow
	nodes    []holdfast.Option // of the nodes that send
}

func (f *pushFlags) add(cmd *cobra.Command, dev bool) {
	flags := cmd.Flags()
	var allow []string
	if dev {
		allow = []string{"127.0.0.0/8", "::1"}
	}
	flags.BoolVar(&f.push, flagPush, true, "send jobs to push endpoints, and events to webhooks; =false: leave that to other servers")
	arg.TextsVar(flags, &f.allow, flagPushAllow, allow,
		"send to `ADDRESS`, too, such as 10.1.2.3 or 10.0.0.0/8, which is not public; repeatable, or a comma-separated list")
	flags.IntVar(&f.pushSlots, flagPushSlots, 100, "send at most `N` jobs at once, of each namespace")
	flags.StringVar(&f.publicURL, flagPublicURL, "",
		"tell endpoints to call back at `URL`, under which they reach this server (default: where it listens)")
	for flag, variable := range map[string]string{
		flagPush: EnvPush, flagPushAllow: EnvPushAllow, flagPushSlots: EnvPushSlots, flagPublicURL: EnvPublicURL,
	} {
		app.Variable(flags, flag, variable)
	}
}

// readPush reads what the flags say.
func (a verbs) readPush(f *pushFlags) error {
	for _, text := range split(f.allow) {
		p, err := parsePrefix(text)
		if err != nil {
			return arg.About(arg.Usagef("%s %q is no address, such as 10.1.2.3, and no network, such as 10.0.0.0/8",
				a.NameOf(flagPushAllow), text), flagPushAllow)
		}
		f.prefixes = append(f.prefixes, p)
	}
	if f.pushSlots < 1 {
		return arg.About(arg.Usagef("%s %d is not positive", a.NameOf(flagPushSlots), f.pushSlots), flagPushSlots)
	}
	u, err := url.Parse(f.publicURL)
	if f.publicURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil) {
		return arg.About(arg.Usagef("%s %q is no URL, such as https://jobs.example.com", a.NameOf(flagPublicURL), f.publicURL), flagPublicURL)
	}
	return nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		return p.Masked(), err
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return ip.Unmap().WithZone("").Prefix(ip.Unmap().BitLen())
}

// start begins to send once the node has joined, and returns what ends that.
func (f *pushFlags) start(
	client *holdfast.Client, listens string, joined <-chan struct{}, log *slog.Logger,
) (func(context.Context) error, error) {
	o := server.PushOptions{URL: f.publicURL, Allow: f.prefixes, Slots: f.pushSlots, Options: f.nodes, Log: log, Begin: joined}
	if o.URL == "" {
		o.URL = listens
	}
	end, err := server.Push(client, o)
	if err != nil {
		return nil, fmt.Errorf("cannot send to endpoints: %w", err)
	}
	return end, nil
}
