package material

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// ReadFile reads a regular file of at most maxBytes. Errors name path, which may be a link to real.
func ReadFile(real, path string, maxBytes int64) ([]byte, error) {
	// Opening a pipe would block, and opening a device can have effects.
	info, err := os.Stat(real)
	if err != nil {
		return nil, fileError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, Refuse("FILE_NOT_REGULAR", path, "not a regular file")
	}
	file, err := os.Open(real)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer file.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(io.LimitReader(file, maxBytes+1)); err != nil {
		return nil, fileError(path, err)
	}
	if int64(text.Len()) > maxBytes {
		return nil, Refuse("FILE_TOO_LARGE", path, "over %d bytes; is it the right file?", maxBytes)
	}
	return text.Bytes(), nil
}

func fileError(path string, err error) error {
	refused := Refuse("FILE_UNREADABLE", path, "the file cannot be read")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		refused = Refuse("FILE_MISSING", path, "there is no such file")
	case errors.Is(err, fs.ErrPermission):
		refused = Refuse("FILE_FORBIDDEN", path, "this user may not read the file")
	}
	refused.Err = err
	return refused
}
