package profile_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"handover.dev/go/profile"
)

func load(t *testing.T, text string) (*profile.Profile, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return profile.Load(path)
}

func TestAProfileBecomesSettings(t *testing.T) {
	for text, expected := range map[string]struct {
		min, max uint16
		suites   int
		warnings int
	}{
		`{"ciphers":["ECDHE-RSA-AES128-GCM-SHA256"],"minTLSVersion":""}`:                               {tls.VersionTLS12, tls.VersionTLS12, 1, 0},
		`{"ciphers":[],"minTLSVersion":"VersionTLS13","groups":["P-256"]}`:                             {tls.VersionTLS13, 0, 0, 0},
		`{"ciphers":["TLS_AES_128_GCM_SHA256"],"minTLSVersion":"VersionTLS12"}`:                        {tls.VersionTLS13, 0, 0, 2},
		`{"ciphers":["AES128-SHA","NO-SUCH"],"minTLSVersion":"VersionTLS10","groups":["X25519","No"]}`: {tls.VersionTLS10, tls.VersionTLS12, 1, 2},
	} {
		p, err := load(t, text)
		if err != nil {
			t.Error(text, err)
			continue
		}
		config := p.Config()
		if config.MinVersion != expected.min || config.MaxVersion != expected.max || len(config.CipherSuites) != expected.suites || len(p.Warnings) != expected.warnings {
			t.Errorf("%s: %x to %x, %v, %v", text, config.MinVersion, config.MaxVersion, config.CipherSuites, p.Warnings)
		}
	}
}

func TestAProfileThatCannotBeHonouredIsRefused(t *testing.T) {
	for text, code := range map[string]string{
		``:                    "TLS_PROFILE_INVALID",
		`null`:                "TLS_PROFILE_INVALID",
		`[]`:                  "TLS_PROFILE_INVALID",
		`{}`:                  "TLS_PROFILE_INVALID",
		`{"ciphers":[]} {}`:   "TLS_PROFILE_INVALID",
		`{"ciphers":[1]}`:     "TLS_PROFILE_INVALID",
		`{"cipher":["x"]}`:    "TLS_PROFILE_INVALID",
		`{"ciphers":["ALL"]}`: "TLS_PROFILE_NO_CIPHER",
		`{"ciphers":[]}`:      "TLS_PROFILE_NO_CIPHER",
		`{"ciphers":["AES128-SHA"],"minTLSVersion":"TLSv1.2"}`:      "TLS_PROFILE_UNKNOWN_VERSION",
		`{"ciphers":["AES128-SHA"],"minTLSVersion":"VersionTLS13"}`: "TLS_PROFILE_NO_CIPHER",
		`{"ciphers":["AES128-SHA"],"groups":["brainpoolP256r1"]}`:   "TLS_PROFILE_NO_GROUP",
	} {
		_, err := load(t, text)
		var refused *profile.Error
		if !errors.As(err, &refused) || refused.Code != code {
			t.Errorf("%s: %v, not %s", text, err, code)
		}
	}
	var refused *profile.Error
	if _, err := profile.Load(filepath.Join(t.TempDir(), "none")); !errors.As(err, &refused) || refused.Code != "FILE_MISSING" {
		t.Error(err)
	}
}

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "profile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "profile.json") // profile.Path in a pod
	text := `{"ciphers":["TLS_AES_128_GCM_SHA256","TLS_AES_256_GCM_SHA384","TLS_CHACHA20_POLY1305_SHA256"],"minTLSVersion":"VersionTLS13"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}

	p, err := profile.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	config := p.Config() // or p.Apply, given to follow's Server
	fmt.Println(tls.VersionName(config.MinVersion), p.Warnings)
	// Output: TLS 1.3 []
}
