package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageProgram is the one program in the image: it does all that massgen does, with --engine local.
const imageProgram = "massgen-temporal"

// imageUser is the user and the group of the image's process, by number, so that Kubernetes sees that it is not root.
const imageUser = 65532

// imageState is the one folder that the program writes to, beside /tmp.
const imageState = "/var/lib/massgen"

// node is a file or a folder of the image.
type node struct {
	path string // from the root on, without the first slash
	mode fs.FileMode
	user int
	data []byte // nil for a folder
}

// nodes returns the image's root, sorted.
func nodes(files []file) ([]node, error) {
	all := []node{
		{path: "dev", mode: programMode}, // what a runtime mounts, for one that does not make the folders
		{path: "proc", mode: programMode},
		{path: "sys", mode: programMode},
		{path: "tmp", mode: 0o777 | fs.ModeSticky},
		{path: strings.TrimPrefix(imageState, "/"), mode: 0o700, user: imageUser},
		{path: "etc/passwd", mode: plainMode, data: fmt.Appendf(nil, "root:x:0:0:root:/:/none\nmassgen:x:%[1]d:%[1]d:massgen:%[2]s:/none\n", imageUser, imageState)},
		{path: "etc/group", mode: plainMode, data: fmt.Appendf(nil, "root:x:0:\nmassgen:x:%d:\n", imageUser)},
		{path: "etc/ssl/certs/ca-certificates.crt", mode: plainMode, data: authorities()},
	}
	for _, f := range files {
		if !f.image {
			continue
		}
		data, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		all = append(all, node{path: strings.TrimPrefix(f.system, "/"), mode: f.mode, data: data})
	}
	has := map[string]bool{".": true}
	for _, n := range all {
		has[n.path] = true
	}
	for _, n := range slices.Clone(all) {
		for dir := filepath.ToSlash(filepath.Dir(n.path)); !has[dir]; dir = filepath.ToSlash(filepath.Dir(dir)) {
			has[dir] = true
			all = append(all, node{path: dir, mode: programMode})
		}
	}
	slices.SortFunc(all, func(a, b node) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// authorities returns the certificates of Mozilla's list that hold without a condition, in PEM.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// layer returns the root as the one layer of an image.
func (r *release) layer(files []file) (v1.Layer, error) {
	all, err := nodes(files)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, n := range all {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: n.path, Size: int64(len(n.data)), Mode: int64(n.mode.Perm()), Uid: n.user, Gid: n.user, ModTime: r.from.at, Format: tar.FormatUSTAR}
		if n.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if n.data == nil {
			h.Typeflag, h.Name = tar.TypeDir, n.path+"/"
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(n.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithMediaType(types.OCILayer))
}

// settings are those with which a container starts.
func (r *release) settings(p platform) *v1.ConfigFile {
	return &v1.ConfigFile{
		OS: p.os, Architecture: p.arch, Created: v1.Time{Time: r.from.at},
		Config: v1.Config{
			User:       fmt.Sprintf("%d:%d", imageUser, imageUser),
			Entrypoint: []string{"/usr/bin/" + imageProgram},
			Env:        []string{"PATH=/usr/bin", "HOME=" + imageState, "XDG_STATE_HOME=/var/lib"},
			WorkingDir: imageState,
			Volumes:    map[string]struct{}{imageState: {}, "/tmp": {}},
			Labels: map[string]string{
				"org.opencontainers.image.title":    imageProgram,
				"org.opencontainers.image.version":  r.from.number(),
				"org.opencontainers.image.revision": r.from.commit,
				"org.opencontainers.image.created":  r.from.at.Format("2006-01-02T15:04:05Z"),
				"org.opencontainers.image.source":   homepage,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	}
}

// image writes the image for one processor as one file. It is an OCI archive, and "docker load" takes it too: an
// older Docker finds its own list of the same blobs, manifest.json.
func (r *release) image(p platform, files []file) error {
	l, err := r.layer(files)
	if err != nil {
		return err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.ConfigFile(img, r.settings(p)); err != nil {
		return err
	}
	img, err = mutate.Append(img, mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: r.from.at}, CreatedBy: "make release"}})
	if err != nil {
		return err
	}
	dir := filepath.Join(r.work, p.String(), "image")
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	tag := imageProgram + ":" + strings.ReplaceAll(r.from.number(), "+", "_")
	if err := to.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag}), layout.WithPlatform(v1.Platform{OS: p.os, Architecture: p.arch})); err != nil {
		return err
	}
	if err := writeDockerList(dir, tag, img); err != nil {
		return err
	}
	return r.archiveImage(dir, fmt.Sprintf("%s_%s_%s_image.tar", imageProgram, r.from.number(), p))
}

// writeDockerList writes manifest.json.
func writeDockerList(dir, tag string, img v1.Image) error {
	m, err := img.Manifest()
	if err != nil {
		return err
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	var layers []string
	for _, l := range m.Layers {
		layers = append(layers, blob(l.Digest))
	}
	text, err := json.Marshal([]map[string]any{{"Config": blob(m.Config.Digest), "RepoTags": []string{tag}, "Layers": layers}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), text, plainMode)
}

// archiveImage writes all files of a folder into one .tar.
func (r *release) archiveImage(dir, name string) (err error) {
	to, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	t := tar.NewWriter(to)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return addFile(t, filepath.ToSlash(inside), data, plainMode, r.from.at)
	})
	return errors.Join(err, t.Close())
}

// writeRoot writes the image's root into a folder, for a Containerfile.
func (r *release) writeRoot(ctx context.Context, p platform) error {
	files, err := r.licenses(ctx)
	if err != nil {
		return err
	}
	run, err := r.built(ctx, p, program{imageProgram, "temporal"})
	if err != nil {
		return err
	}
	all, err := nodes(append(files, run))
	if err != nil {
		return err
	}
	for _, n := range all {
		path := filepath.Join(r.out, filepath.FromSlash(n.path))
		if n.data == nil {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, n.data, n.mode)
		}
		if err != nil {
			return err
		}
		if err := os.Chmod(path, n.mode); err != nil {
			return err
		}
	}
	return nil
}
