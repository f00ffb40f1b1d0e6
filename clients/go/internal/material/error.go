// Package material reads certificates, keys and bundles strictly: a file is used whole or refused with a code.
package material

import "fmt"

// Error says why a file cannot be used. The codes are those of Handover's error reference; compare them and not the message.
type Error struct {
	// Code is stable.
	Code string
	// Path is the file.
	Path string
	// Message is one line for people. It never holds key material.
	Message string
	// Err is the error below this one, if there is one.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%s)", e.Path, e.Message, e.Code) }

// Unwrap returns the error below this one.
func (e *Error) Unwrap() error { return e.Err }

// Reason is the kind of failure that a status document names.
func (e *Error) Reason() string {
	switch e.Code {
	case "FILE_EMPTY":
		return "empty"
	case "KEY_MISMATCH":
		return "mismatch"
	case "CERTIFICATE_EXPIRED", "CERTIFICATE_NOT_YET_VALID":
		return "not_valid_now"
	case "FILE_MISSING", "FILE_FORBIDDEN", "FILE_NOT_REGULAR", "FILE_TOO_LARGE", "FILE_UNREADABLE":
		return "read_error"
	default:
		return "parse_error"
	}
}

// Refuse makes an Error.
func Refuse(code, path, format string, arguments ...any) *Error {
	return &Error{Code: code, Path: path, Message: fmt.Sprintf(format, arguments...)}
}
