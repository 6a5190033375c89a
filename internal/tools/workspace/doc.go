// Package workspace gives an agent a folder of its own and the tools to work in it:
// read_file, write_file, edit_file, list_files, search_files, move_file, delete_file
// and, only if it is turned on, run_command.
//
// A path is relative to the workspace, with slashes, or begins with the name of a
// mount: a tree from elsewhere that is shown beside the workspace's own files, for
// reading (a peer's snapshot) or for writing too. Every path goes through os.Root, so
// that no path leads out. Tools change no file through a symbolic link, and no file in
// place: they write the new file beside the old one and rename it, so that no hard link
// or reader sees a part of it.
//
// Commands run behind a fence (see fence). Snapshots copy a workspace for the peers that
// judge its answers, as it was at one moment and for reading only (see TakeSnapshot).
//
// Results are JSON objects. A result with "success": false has an "error" that names the
// cure.
package workspace
