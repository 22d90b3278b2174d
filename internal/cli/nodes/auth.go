package nodes

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/oidc"
)

// The flags that say who gets in.
const (
	flagAuth         = "auth"
	flagOIDCIssuer   = "oidc-issuer"
	flagOIDCAudience = "oidc-audience"
	flagOIDCRole     = "oidc-role"
	flagOIDCGroups   = "oidc-groups-claim"
	flagOIDCName     = "oidc-name-claim"
	flagOIDCKeys     = "oidc-keys"
)

// The variables of these flags, and that of the token.
const (
	EnvAuth         = "HOLDFAST_AUTH"
	EnvOIDCIssuer   = "HOLDFAST_OIDC_ISSUER"
	EnvOIDCAudience = "HOLDFAST_OIDC_AUDIENCE"
	EnvOIDCRole     = "HOLDFAST_OIDC_ROLE"
	EnvOIDCGroups   = "HOLDFAST_OIDC_GROUPS_CLAIM"
	EnvOIDCName     = "HOLDFAST_OIDC_NAME_CLAIM"
	EnvOIDCKeys     = "HOLDFAST_OIDC_KEYS"
	EnvToken        = app.EnvToken
)

// The ways to find out who makes a request.
const (
	authToken = "token"
	authKeys  = "keys"
	authOIDC  = "oidc"
	authNone  = "none"
)

// AuthWays are all of them.
var AuthWays = []string{authToken, authKeys, authOIDC, authNone}

// minToken is how long a token must be.
const minToken = 20

// authFlags say who gets in.
type authFlags struct {
	auth   string // one or several of the ways
	oidc   oidc.Config
	groups []string // that have roles

	ways   []string               // of auth
	static []access.Authenticator // those that need no database
}

// groupsClaim is the claim with the groups if nothing else is said.
const groupsClaim = "groups"

func (f *authFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.auth, flagAuth, authToken,
		"let callers in by this `WAY`: token (that in $"+EnvToken+"), keys (\"holdfast key create\" makes one), oidc (tokens of an identity "+
			"provider), several of these with commas between them, or none, on loopback addresses alone")
	flags.StringVar(&f.oidc.Issuer, flagOIDCIssuer, "", "the `URL` of the identity provider, as its tokens have it in iss")
	flags.StringVar(&f.oidc.Audience, flagOIDCAudience, "", "the `NAME` of this server, or of its client, that aud of a token must contain")
	arg.TextsVar(flags, &f.groups, flagOIDCRole, nil,
		fmt.Sprintf("`GROUP=ROLE` lets members of a group do what %s, %s or %s may; GROUP=ROLE:NAMESPACE: in one namespace; "+
			"the group * is everyone with a token; repeatable, or with semicolons between several", apikey.Viewer, apikey.Operator, apikey.Admin))
	flags.StringVar(&f.oidc.GroupsClaim, flagOIDCGroups, groupsClaim, "the `CLAIM` of a token with the groups; dots lead into objects")
	flags.StringVar(&f.oidc.NameClaim, flagOIDCName, "",
		"the `CLAIM` with the name that is recorded with changes (default: email, if it is verified, or else sub)")
	flags.StringVar(&f.oidc.Keys, flagOIDCKeys, "", "the `URL` of the provider's keys (default: as the issuer's configuration says)")
	for flag, variable := range map[string]string{
		flagAuth: EnvAuth, flagOIDCIssuer: EnvOIDCIssuer, flagOIDCAudience: EnvOIDCAudience, flagOIDCRole: EnvOIDCRole,
		flagOIDCGroups: EnvOIDCGroups, flagOIDCName: EnvOIDCName, flagOIDCKeys: EnvOIDCKeys,
	} {
		app.Variable(flags, flag, variable)
	}
}

// waysOf are the ways that a text names, or why it names none.
func waysOf(text string) ([]string, error) {
	ways := split([]string{text})
	for i, way := range ways {
		switch {
		case !slices.Contains(AuthWays, way):
			return nil, arg.Usagef("%q is none of %s", way, strings.Join(AuthWays, ", "))
		case slices.Index(ways, way) < i:
			return nil, arg.Usagef("%s is there twice", way)
		case way == authNone && len(ways) > 1:
			return nil, arg.Usagef("none lets everybody in, and stands alone")
		}
	}
	if len(ways) == 0 {
		return nil, arg.Usagef("it is empty; it is one of %s", strings.Join(AuthWays, ", "))
	}
	return ways, nil
}

// readAuth reads who gets in at an address and under the names of hosts. The token is read later.
func (a verbs) readAuth(f *authFlags, address string, hosts []string) error {
	ways, err := waysOf(f.auth)
	if err != nil {
		return arg.About(arg.Usagef("%s %q: %w", a.NameOf(flagAuth), f.auth, err), flagAuth)
	}
	f.ways = ways
	if flag := f.saysOfProvider(); flag != "" && !slices.Contains(ways, authOIDC) {
		return arg.About(arg.Usagef("%s is about an identity provider, and %s is %s; let callers in by oidc, too",
			a.NameOf(flag), a.NameOf(flagAuth), f.auth), flag, flagAuth)
	}
	switch {
	case ways[0] != authNone:
	case slices.Contains(hosts, "*"):
		return arg.About(arg.Usagef("%s none with %s *: any web page could give itself the name of this machine and do everything; "+
			"name the hosts, or let callers in by a token", a.NameOf(flagAuth), a.NameOf(flagHost)), flagAuth, flagHost)
	case !isLoopback(address):
		return arg.About(arg.Usagef("%s none lets everybody do everything, and %s %s is reached from elsewhere; use %s token, "+
			"or listen on 127.0.0.1", a.NameOf(flagAuth), a.NameOf(flagListen), address, a.NameOf(flagAuth)), flagAuth, flagListen)
	}
	if slices.Contains(ways, authOIDC) {
		return a.readProvider(f)
	}
	return nil
}

// readToken reads the token of those who get in by one, and makes what needs no database.
func (a verbs) readToken(f *authFlags) error {
	switch {
	case slices.Contains(f.ways, authNone):
		f.static = append(f.static, access.Anyone("anyone"))
	case slices.Contains(f.ways, authToken):
		token, _ := a.Env.LookupEnv(EnvToken)
		token = strings.TrimSpace(token) // what files have at their end no header carries
		if len(token) < minToken {
			return arg.Usagef("set $%s to a random text of at least %d letters, such as that of \"openssl rand -hex 32\"; "+
				"or use --auth none on a loopback address", EnvToken, minToken)
		}
		f.static = append(f.static, access.Token("token", token))
	}
	return nil
}

// isLoopback reports whether an address, HOST:PORT, is reached from this machine alone.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// saysOfProvider is a flag that says something of an identity provider; "": none does.
func (f *authFlags) saysOfProvider() string {
	switch {
	case f.oidc.Issuer != "":
		return flagOIDCIssuer
	case f.oidc.Audience != "":
		return flagOIDCAudience
	case f.oidc.Keys != "":
		return flagOIDCKeys
	case len(f.groups) > 0:
		return flagOIDCRole
	case f.oidc.GroupsClaim != groupsClaim:
		return flagOIDCGroups
	case f.oidc.NameClaim != "":
		return flagOIDCName
	}
	return ""
}

// rulesOf are the rules that texts name, each one or several: names of groups have commas in them.
func rulesOf(texts []string) (rules []oidc.Rule, err error) {
	for _, text := range texts {
		for one := range strings.SplitSeq(text, ";") {
			rule, err := oidc.ParseRule(strings.TrimSpace(one))
			if err != nil {
				return nil, err
			}
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// readProvider reads what is said of an identity provider, which is not asked yet.
func (a verbs) readProvider(f *authFlags) error {
	rules, err := rulesOf(f.groups)
	if err != nil {
		return arg.About(arg.Usagef("%s: %w", a.NameOf(flagOIDCRole), err), flagOIDCRole)
	}
	f.oidc.Roles = rules
	needs := func(flag, why string) error {
		return arg.About(arg.Usagef("%s %s needs --%s, %s", a.NameOf(flagAuth), f.auth, flag, why), flagAuth, flag)
	}
	switch {
	case f.oidc.Issuer == "":
		return needs(flagOIDCIssuer, "the URL of the identity provider")
	case f.oidc.Audience == "":
		return needs(flagOIDCAudience, "the name by which the provider knows this server")
	case len(f.oidc.Roles) == 0:
		return needs(flagOIDCRole, "such as ops=admin: without any, no token lets anyone in")
	}
	_, err = oidc.New(f.oidc)
	return arg.About(arg.InvalidIsUsage(err), flagOIDCIssuer, flagOIDCKeys, flagOIDCAudience, flagOIDCRole)
}

// authenticator finds out who makes a request, with the API keys of the database of a client. What
// must be done in the end is added to ends.
func (f *apiFlags) authenticator(client *holdfast.Client, log *slog.Logger) (access.Authenticator, error) {
	ways := f.static
	if slices.Contains(f.ways, authOIDC) {
		f.oidc.Log = log
		v, err := oidc.New(f.oidc)
		if err != nil {
			return nil, err
		}
		ways = append(ways, v.Authenticate)
	}
	if slices.Contains(f.ways, authKeys) {
		keys, end := server.APIKeys(client)
		ways, f.ends = append([]access.Authenticator{access.Keys(keys)}, ways...), append(f.ends, end)
	}
	return access.First(ways...), nil
}
