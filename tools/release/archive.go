package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// archive writes the archive for one system: a .zip for Windows, else a .tar.gz. All is below one folder.
func (r *release) archive(p platform, files []file) (err error) {
	folder := fmt.Sprintf("massgen_%s_%s", r.from.number(), p)
	ending, write := ".tar.gz", writeTar
	if p.os == "windows" {
		ending, write = ".zip", writeZip
	}
	to, err := os.Create(filepath.Join(r.out, folder+ending))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	files = slices.DeleteFunc(slices.Clone(files), func(f file) bool { return f.archive == "" })
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.archive, b.archive) })
	return write(to, folder, files, r.from.at)
}

func writeTar(to io.Writer, folder string, files []file, at time.Time) error {
	packed := gzip.NewWriter(to)
	t := tar.NewWriter(packed)
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		if err := addFile(t, folder+"/"+f.archive, data, f.mode, at); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), packed.Close())
}

// addFile adds a file of root's to a .tar.
func addFile(t *tar.Writer, name string, data []byte, mode fs.FileMode, at time.Time) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: int64(mode), ModTime: at, Format: tar.FormatUSTAR}
	err := t.WriteHeader(h)
	if err == nil {
		_, err = t.Write(data)
	}
	return err
}

func writeZip(to io.Writer, folder string, files []file, at time.Time) error {
	z := zip.NewWriter(to)
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: folder + "/" + f.archive, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return z.Close()
}

// sums is the file with the checksums, for sha256sum --check.
const sums = "SHA256SUMS"

// writeSums writes the checksums of all files of a folder into one more.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
		fmt.Printf("  %-62s %5.1f MB\n", e.Name(), float64(len(data))/1e6)
	}
	return os.WriteFile(filepath.Join(dir, sums), []byte(b.String()), plainMode)
}
