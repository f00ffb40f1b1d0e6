package material

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
)

type block struct {
	label string
	der   []byte
	line  int
}

var boundary = regexp.MustCompile(`^-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]*)-----$`)

// scan reads every PEM block. encoding/pem skips a damaged block in silence, and with it a CA: here it is an error. Label is asked
// at each BEGIN, so that a refused label is reported even when the body is bad.
func scan(text []byte, path string, label func(label string, line int) *Error) ([]block, *Error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, Refuse("FILE_EMPTY", path, "the file is empty; it should hold PEM text")
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, Refuse("PEM_BINARY", path, "binary data, not PEM; convert DER with openssl x509 -inform der")
	}
	var blocks []block
	var open *block
	var body strings.Builder
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for index, raw := range strings.Split(string(text), "\n") {
		line := index + 1
		trimmed := strings.TrimRight(raw, " \t\r")
		if found := boundary.FindStringSubmatch(trimmed); found != nil {
			kind, name := found[1], found[2]
			switch {
			case kind == "BEGIN" && open != nil:
				return nil, Refuse("PEM_BAD_BOUNDARY", path, "%s of line %d has no END before line %d", open.label, open.line, line)
			case kind == "BEGIN":
				if refused := label(name, line); refused != nil {
					return nil, refused
				}
				open = &block{label: name, line: line}
				body.Reset()
			case open == nil:
				return nil, Refuse("PEM_BAD_BOUNDARY", path, "END %s at line %d without a BEGIN", name, line)
			case open.label != name:
				return nil, Refuse("PEM_BAD_BOUNDARY", path, "%s of line %d ends as %s at line %d", open.label, open.line, name, line)
			default:
				der, err := base64.StdEncoding.Strict().DecodeString(body.String())
				if err != nil || len(der) == 0 {
					return nil, Refuse("PEM_BAD_BASE64", path, "%s at line %d is not proper base64; copy the file again, whole", name, open.line)
				}
				open.der = der
				blocks = append(blocks, *open)
				open = nil
			}
			continue
		}
		if strings.Contains(raw, "-----BEGIN") || strings.Contains(raw, "-----END") {
			return nil, Refuse("PEM_BAD_BOUNDARY", path, "line %d is a damaged BEGIN or END line; it must stand alone, unindented", line)
		}
		if open != nil {
			body.WriteString(strings.TrimSpace(raw))
		}
	}
	if open != nil {
		return nil, Refuse("PEM_TRUNCATED", path, "%s of line %d has no END; the text is cut short", open.label, open.line)
	}
	return blocks, nil
}
