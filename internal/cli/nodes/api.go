package nodes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/listen"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
)

// defaultListen is where the API is served if nothing else is said.
const defaultListen = "127.0.0.1:8233"

// The flags of those who serve the API.
const (
	flagHost     = "host"
	flagOrigin   = "origin"
	flagReadOnly = "read-only"
	flagOnly     = "only"
	flagFeed     = "feed"
	flagTLSCert  = "tls-cert"
	flagTLSKey   = "tls-key"
	flagRate     = "rate-limit"
	flagBurst    = "rate-burst"
)

// The variables of these flags.
const (
	EnvHost     = "HOLDFAST_HOST"
	EnvOrigin   = "HOLDFAST_ORIGIN"
	EnvReadOnly = "HOLDFAST_READ_ONLY"
	EnvOnly     = "HOLDFAST_ONLY"
	EnvFeed     = "HOLDFAST_FEED"
	EnvTLSCert  = "HOLDFAST_TLS_CERT"
	EnvTLSKey   = "HOLDFAST_TLS_KEY"
	EnvRate     = "HOLDFAST_RATE_LIMIT"
	EnvBurst    = "HOLDFAST_RATE_BURST"
)

// noListen is the address of those who do not listen.
const noListen = "none"

// apiFlags are the flags of the API.
type apiFlags struct {
	authFlags
	dashboardFlags
	pushFlags

	dev      bool // makes a token, takes any port if the default one is in use, and may not listen at all
	hosts    []string
	origins  []string
	readOnly bool
	only     string // "callbacks", or ""
	feed     bool   // is switched on
	tlsCert  string
	tlsKey   string
	rate     string // N/s
	burst    int

	token  string                        // what is made for dev
	limit  requestRate                   // of rate and burst
	cert   *listen.Certificate           // of tlsCert and tlsKey; nil: there is none
	joined chan struct{}                 // closed once the node has joined
	ends   []func(context.Context) error // of what mount has begun
}

// end ends what mount has begun.
func (f *apiFlags) end(ctx context.Context) (err error) {
	if f == nil {
		return nil
	}
	for _, end := range f.ends {
		err = errors.Join(err, end(ctx))
	}
	return err
}

func (f *apiFlags) add(cmd *cobra.Command, address *string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.feed, flagFeed, true, "switch the feed of changes on, as \"holdfast event on\" does; =false: leave it as it is")
	app.Variable(flags, flagFeed, EnvFeed)
	f.pushFlags.add(cmd, f.dev)
	f.dashboardFlags.add(cmd)
	if f.dev {
		flags.StringVar(address, flagListen, defaultListen, "serve the API, /metrics, /healthz and /readyz on `ADDRESS`; none: do not listen")
		return
	}
	flags.StringVar(address, flagListen, defaultListen, "serve the API, /metrics, /healthz and /readyz on `ADDRESS`")
	f.authFlags.add(cmd)
	arg.TextsVar(flags, &f.hosts, flagHost, nil,
		"answer to the host `NAME`, too, beside loopback names; * is any; repeatable, or a comma-separated list")
	arg.TextsVar(flags, &f.origins, flagOrigin, nil,
		"let pages of the web site `ORIGIN`, such as https://jobs.example.com, change something; repeatable")
	flags.BoolVar(&f.readOnly, flagReadOnly, false, "refuse requests that change something")
	flags.StringVar(&f.only, flagOnly, "",
		"serve only this `PART`: callbacks, whose tokens are their credentials, so that --auth is not looked at; 100/s from each network "+
			"unless --rate-limit says otherwise (default: all)")
	flags.StringVar(&f.tlsCert, flagTLSCert, "",
		"speak TLS with the certificate of `FILE`, in PEM, with those between it and its authority behind it; "+
			"it is read again when it has changed (default: speak HTTP)")
	flags.StringVar(&f.tlsKey, flagTLSKey, "", "`FILE` with the key of that certificate, in PEM")
	flags.StringVar(&f.rate, flagRate, "",
		"let each caller make this `NUMBER` of requests: 100/s, 600/m or 5000/h; more are answered 429 (default: any number)")
	flags.IntVar(&f.burst, flagBurst, 0, "of which `N` may come at once (default: those of a second)")
	for flag, variable := range map[string]string{
		flagHost: EnvHost, flagOrigin: EnvOrigin, flagReadOnly: EnvReadOnly, flagOnly: EnvOnly, flagTLSCert: EnvTLSCert, flagTLSKey: EnvTLSKey,
		flagRate: EnvRate, flagBurst: EnvBurst,
	} {
		app.Variable(flags, flag, variable)
	}
}

// rules are why the flags of the API, which listens on an address, cannot be.
func (f *apiFlags) rules(a verbs, address *string) []func() error {
	rules := []func() error{
		func() error { return a.readPush(&f.pushFlags) },
		func() error { return a.checkOrigins(f) },
		func() error { return a.checkLook(&f.dashboardFlags) },
	}
	if f.dev {
		return rules
	}
	return append(rules,
		func() error { return a.checkPart(f) },
		func() error { return a.checkCertificate(f) },
		func() error { return a.readRate(f) },
		func() error {
			if f.only != "" {
				return nil // tokens of callbacks let in
			}
			return a.readAuth(&f.authFlags, *address, split(f.hosts))
		},
	)
}

// apiOptions are those of the API, once its rules were kept; api nil: there is none. It reads what
// is not in flags: the token and the certificate.
func (a verbs) apiOptions(f *apiFlags) (server.Options, error) {
	if f == nil {
		return server.Options{}, nil
	}
	f.joined = make(chan struct{})
	o := server.Options{
		ReadOnly: f.readOnly, Hosts: split(f.hosts), Origins: split(f.origins), OnlyCallbacks: f.only != "",
		RateLimit: f.limit.perSecond, RateBurst: f.limit.burst,
	}
	if f.only == "" {
		if err := a.readDashboard(&f.dashboardFlags, &o); err != nil {
			return o, err
		}
	}
	if f.dev {
		f.token = rand.Text()
		f.static = []access.Authenticator{access.Token("dev", f.token)}
		return o, nil
	}
	return o, errors.Join(a.readCertificate(f), a.readToken(&f.authFlags))
}

func (a verbs) checkOrigins(f *apiFlags) error {
	for _, origin := range split(f.origins) {
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(origin); err != nil {
			return arg.About(arg.Usagef("%s: %w", a.NameOf(flagOrigin), err), flagOrigin)
		}
	}
	return nil
}

// partCallbacks is what --only may say.
const partCallbacks = "callbacks"

// callbackRate is how many requests a second a network may make of a server that has only
// callbacks, if nothing else is said: tokens are not to be tried as fast as can be.
const callbackRate = "100/s"

// checkPart checks what is said of a server that has only callbacks.
func (a verbs) checkPart(f *apiFlags) error {
	switch {
	case f.only == "":
		return nil
	case f.only != partCallbacks:
		return arg.About(arg.Usagef("%s %q is not %s", a.NameOf(flagOnly), f.only, partCallbacks), flagOnly)
	case f.readOnly:
		return arg.About(arg.Usagef("%s leaves nothing to do for %s %s", a.NameOf(flagReadOnly), a.NameOf(flagOnly), partCallbacks),
			flagReadOnly, flagOnly)
	}
	return nil
}

// checkCertificate checks that a certificate has its key, and a key its certificate.
func (a verbs) checkCertificate(f *apiFlags) error {
	switch {
	case (f.tlsCert == "") == (f.tlsKey == ""):
		return nil
	case f.tlsKey == "":
		return arg.About(arg.Usagef("%s needs --%s, the file with the key of the certificate", a.NameOf(flagTLSCert), flagTLSKey),
			flagTLSCert, flagTLSKey)
	default:
		return arg.About(arg.Usagef("%s needs --%s, the file with the certificate", a.NameOf(flagTLSKey), flagTLSCert),
			flagTLSKey, flagTLSCert)
	}
}

// readCertificate reads the certificate that the flags name, if they do.
func (a verbs) readCertificate(f *apiFlags) (err error) {
	if f.tlsCert == "" {
		return nil
	}
	if f.cert, err = listen.ReadCertificate(f.tlsCert, f.tlsKey); err != nil {
		return arg.Usagef("%s: %w", a.NameOf(flagTLSCert), err)
	}
	return nil
}

// readRate reads the limit on the requests of each caller.
func (a verbs) readRate(f *apiFlags) error {
	text := f.rate
	switch {
	case text == "" && f.only != "":
		text = callbackRate
	case text == "" && f.burst != 0:
		return arg.About(arg.Usagef("%s needs --%s", a.NameOf(flagBurst), flagRate), flagBurst, flagRate)
	case text == "":
		return nil
	}
	if f.burst < 0 || f.burst > maxBurst {
		return arg.About(arg.Usagef("%s %d must be from 1 to %d", a.NameOf(flagBurst), f.burst, maxBurst), flagBurst)
	}
	rate, ok := parseRate(text)
	if !ok {
		return arg.About(arg.Usagef("%s %q must be a number of requests in a time, such as 100/s, 600/m or 5000/h: from one a day to %d/s",
			a.NameOf(flagRate), text, maxRate), flagRate)
	}
	f.limit = requestRate{rate, f.burst}
	return nil
}

// listenForAPI listens for the API.
func (a verbs) listenForAPI(ctx context.Context, f *settings, said bool) (*listen.Server, error) {
	if f.api.dev && f.listen == noListen {
		return nil, nil //nolint:nilnil // there is none
	}
	s, err := a.listenOn(ctx, f.listen)
	if f.api.dev && !said && errors.Is(err, syscall.EADDRINUSE) {
		a.Notef("%s is in use, perhaps by another \"holdfast dev\"; this one listens elsewhere", f.listen)
		s, err = a.listenOn(ctx, "127.0.0.1:0")
	}
	if err != nil {
		return nil, err
	}
	s.WithAPI(server.Starting())
	if f.api.cert != nil {
		s.WithTLS(f.api.cert)
	}
	s.Serve()
	return s, nil
}

// mount serves the API of a client.
func (a verbs) mount(s *listen.Server, client *holdfast.Client, f *settings, o server.Options, log *slog.Logger) error {
	var err error
	if o.Authenticate, err = f.api.authenticator(client, log); err != nil {
		return err
	}
	if f.api.feed && !f.api.readOnly {
		f.api.ends = append(f.api.ends, feedOn(f.api.joined, client, log))
	}
	if f.api.push && !f.api.readOnly && f.api.only == "" {
		listens := ""
		if f.api.dev { // elsewhere others reach it by another URL, which only people know
			listens = s.URL()
		}
		end, err := f.api.start(client, listens, f.api.joined, log)
		if err != nil {
			return err
		}
		f.api.ends = append(f.api.ends, end)
	}
	if f.api.cert != nil {
		f.api.cert.Tell(log)
	}
	o.Log, o.Metrics, o.Stopping = log, s.Metrics(), s.Closing()
	handler, err := server.Handler(client, o)
	if err != nil {
		return err
	}
	s.Mount(handler)
	return nil
}

// saysAPI tells where the API is, once the node has joined: what cannot join says only why.
func (a verbs) saysAPI(s *listen.Server, f *apiFlags) {
	close(f.joined)
	if f.only != "" {
		a.Notef("Serving callbacks, and nothing else, on %s.", s.URL())
		return
	}
	if f.dev {
		a.Notef("The API is on %s. To open it in a browser: %s/?token=%s\n"+
			"Elsewhere: curl -H 'Authorization: Bearer %s' %s/api/v1/jobs",
			s.URL(), s.URL(), f.token, f.token, s.URL())
		return
	}
	a.Notef("Serving the API on %s.", s.URL())
}

func (a verbs) serverCommand() *cobra.Command {
	f := settings{api: &apiFlags{}, keeps: &kept{}}
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve the API",
		Long: `Serve the HTTP API of a database to people, programs and workers; /openapi.json describes it. The
schema is created or upgraded first. The process is a node, too, which claims no jobs but
operations, and does the maintenance of all namespaces if no other node leads. While it leads,
finished jobs are removed only after the times that flags say, or the classes of retention that
queues name.

With --tls-cert and --tls-key it speaks TLS. Both files are read again when they have changed.

Who has the token in $` + EnvToken + ` may do everything. With --auth keys
API keys let in (see "key"), each with what it may do, and with --auth oidc tokens of an identity
provider, with what the groups in them may. Without any (--auth none) the server listens on loopback
addresses only. It answers to loopback names and those of --host.

With --only callbacks it serves nothing but callbacks, /healthz and /readyz, for systems elsewhere,
which have tokens of these and no other credential. All else is 404.

On SIGTERM, SIGHUP or Ctrl-C it lets requests end, and leaves.`,
		Example: fmt.Sprintf(`  %s="$(openssl rand -hex 32)" holdfast server --database postgres://localhost/app
  holdfast server --auth none
  holdfast server --listen 0.0.0.0:443 --host jobs.example.com --tls-cert cert.pem --tls-key key.pem
  holdfast server --only callbacks --listen 0.0.0.0:8234 --host hooks.example.com`, EnvToken),
		Args: arg.Takes(0, 0),
		Annotations: app.NeedsDatabase(
			app.Reads(app.OwnPlace(app.ManyNamespaces(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet))), EnvToken),
			"it is what serves a database"),
		RunE: a.doServe(&f, func() (*serving, error) {
			keepSmall()
			keeps := f.keeps.option()
			source, err := a.Source()
			f.api.nodes = append(f.api.nodes, keeps)
			return &serving{source: source, opts: []holdfast.Option{maintainOnly, keeps}, register: noHandlers}, err
		}),
	}
	f.addOfNode(a, cmd, app.LogText)
	return cmd
}
