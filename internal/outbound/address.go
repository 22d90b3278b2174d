package outbound

import (
	"net/netip"
	"slices"
)

// special are the addresses beside the loopback, private, link-local and multicast ones that are
// not public: those of special-purpose registries (RFC 6890), and those that carry an IPv4 address
// on to where they are translated.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	"5f00::/16", "fec0::/10",
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// unicast are the only IPv6 addresses that are given out as public ones (RFC 3587): others may be
// given a meaning, and be translated to what is not public.
var unicast = netip.MustParsePrefix("2000::/3")

// IsPublic reports whether an address is one that anybody reaches.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsValid() && a.IsGlobalUnicast() && !a.IsPrivate() && !within(a, special) && (a.Is4() || unicast.Contains(a))
}

// IsAllowed reports whether an address is public, or one of those that are allowed.
func IsAllowed(a netip.Addr, allow []netip.Prefix) bool {
	return IsPublic(a) || within(a.Unmap().WithZone(""), allow)
}

func within(a netip.Addr, list []netip.Prefix) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}
