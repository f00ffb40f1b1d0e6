// Package profile turns a TLS profile of Handover (profile.json: versions, ciphers, groups) into settings of crypto/tls.
package profile

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"handover.dev/go/internal/material"
)

// Path is where the recipes mount a profile.
const Path = "/etc/tls-profile/profile.json"

const maxBytes = 64 * 1024

// Error says why a profile cannot be used: Code is stable, Path names the file.
type Error = material.Error

// Profile is the part of a profile that this version of Go supports.
type Profile struct {
	// Hash is the hex SHA-256 of the file. Pod templates are stamped with it.
	Hash string
	// Warnings name what the profile lists and Go lacks.
	Warnings []string

	min, max uint16
	suites   []uint16
	groups   []tls.CurveID
}

type file struct {
	Ciphers       []string `json:"ciphers"`
	MinTLSVersion string   `json:"minTLSVersion"`
	Groups        []string `json:"groups"`
}

var versions = map[string]uint16{
	"":             tls.VersionTLS12,
	"VersionTLS10": tls.VersionTLS10,
	"VersionTLS11": tls.VersionTLS11,
	"VersionTLS12": tls.VersionTLS12,
	"VersionTLS13": tls.VersionTLS13,
}

var suites13 = []string{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}

// Profiles have OpenSSL's names. Go has no CBC suites with SHA-384, nor AES256-SHA256.
var suites = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-AES128-SHA256":     tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-RSA-AES128-SHA256":       tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	"AES128-GCM-SHA256":             tls.TLS_RSA_WITH_AES_128_GCM_SHA256,
	"AES256-GCM-SHA384":             tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
	"AES128-SHA256":                 tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
	"AES128-SHA":                    tls.TLS_RSA_WITH_AES_128_CBC_SHA,
	"AES256-SHA":                    tls.TLS_RSA_WITH_AES_256_CBC_SHA,
	"DES-CBC3-SHA":                  tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA,
}

// Names of one group by IANA, SECG, NIST and OpenSSL, in lower case.
var groups = map[string]tls.CurveID{
	"x25519mlkem768": tls.X25519MLKEM768,
	"x25519":         tls.X25519,
	"secp256r1":      tls.CurveP256,
	"p-256":          tls.CurveP256,
	"prime256v1":     tls.CurveP256,
	"secp384r1":      tls.CurveP384,
	"p-384":          tls.CurveP384,
	"secp521r1":      tls.CurveP521,
	"p-521":          tls.CurveP521,
}

var defaultGroups = []string{"X25519MLKEM768", "X25519", "secp256r1", "secp384r1"}

// Load reads a profile. It fails when the file cannot be read, or when Go supports nothing of what it lists.
func Load(path string) (*Profile, error) {
	text, err := material.ReadFile(path, path, maxBytes)
	if err != nil {
		return nil, err
	}
	parsed, err := parse(text, path)
	if err != nil {
		return nil, err
	}
	return resolve(parsed, text, path)
}

func parse(text []byte, path string) (file, error) {
	invalid := func(why string) error { return material.Refuse("TLS_PROFILE_INVALID", path, "the TLS profile %s", why) }
	var parsed file
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&parsed); err != nil {
		return parsed, invalid("is not one JSON object with ciphers, minTLSVersion and groups")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return parsed, invalid("has text after its JSON object")
	}
	if parsed.Ciphers == nil {
		return parsed, invalid(`needs "ciphers", a list of names`)
	}
	return parsed, nil
}

func resolve(parsed file, text []byte, path string) (*Profile, error) {
	min, ok := versions[parsed.MinTLSVersion]
	if !ok {
		return nil, material.Refuse("TLS_PROFILE_UNKNOWN_VERSION", path, "the TLS profile asks for version %.64q; use VersionTLS10 to VersionTLS13", parsed.MinTLSVersion)
	}
	sum := sha256.Sum256(text)
	p := &Profile{Hash: hex.EncodeToString(sum[:]), min: min}
	ciphers := parsed.Ciphers
	if len(ciphers) == 0 && min == tls.VersionTLS13 {
		ciphers = suites13
	}
	var of13 int
	var strange []string
	for _, name := range ciphers {
		suite, known := suites[strings.ToUpper(name)]
		switch {
		case slices.Contains(suites13, strings.ToUpper(name)):
			of13++
		case known && !slices.Contains(p.suites, suite):
			p.suites = append(p.suites, suite)
		case !known:
			strange = append(strange, name)
		}
	}
	if of13 > 0 && of13 == len(ciphers) && min < tls.VersionTLS13 {
		p.min = tls.VersionTLS13
		p.warn("only TLS 1.3 ciphers are listed: minimum raised to VersionTLS13")
	}
	switch {
	case p.min == tls.VersionTLS13 && of13 == 0:
		return nil, material.Refuse("TLS_PROFILE_NO_CIPHER", path, "the TLS profile lists no supported TLS 1.3 cipher; add one")
	case p.min < tls.VersionTLS13 && len(p.suites) == 0:
		return nil, material.Refuse("TLS_PROFILE_NO_CIPHER", path, "the TLS profile lists no supported cipher below TLS 1.3; add one, or raise the minimum")
	}
	if of13 == 0 {
		p.max = tls.VersionTLS12 // else Go would offer its TLS 1.3 suites
	} else if of13 < len(suites13) {
		p.warn("Go uses all of its TLS 1.3 suites: the profile lists some of them only")
	}
	if len(strange) > 0 {
		p.warn("ciphers that Go lacks: " + strings.Join(strange, ", "))
	}
	if err := p.resolveGroups(parsed.Groups, path); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Profile) resolveGroups(names []string, path string) error {
	if len(names) == 0 {
		names = defaultGroups
	}
	var strange []string
	for _, name := range names {
		group, known := groups[strings.ToLower(name)]
		switch {
		case !known:
			strange = append(strange, name)
		case !slices.Contains(p.groups, group):
			p.groups = append(p.groups, group)
		}
	}
	if len(p.groups) == 0 {
		return material.Refuse("TLS_PROFILE_NO_GROUP", path, "the TLS profile lists no supported group; add one")
	}
	if len(strange) > 0 {
		p.warn("groups that Go lacks: " + strings.Join(strange, ", "))
	}
	return nil
}

func (p *Profile) warn(text string) { p.Warnings = append(p.Warnings, text) }

// Apply sets versions, ciphers and groups, and nothing else: give it to follow's Server.
func (p *Profile) Apply(config *tls.Config) {
	config.MinVersion, config.MaxVersion = p.min, p.max
	config.CipherSuites = slices.Clone(p.suites)
	config.CurvePreferences = slices.Clone(p.groups)
}

// Config returns a new configuration with the profile's settings.
func (p *Profile) Config() *tls.Config {
	config := &tls.Config{}
	p.Apply(config)
	return config
}
