// Package workspace gives an agent a folder of its own and the tools to work in it:
// read_file, write_file, edit_file, list_files, search_files, move_file, delete_file
// and, only if it is turned on, run_command.
//
// A path is relative to the workspace, with slashes, or begins with the name of a
// mount: a tree from elsewhere that is shown beside the workspace's own files, for
// reading (a peer's snapshot) or for writing too. Every path goes through os.Root, so
// that none leads out, by whatever way. Tools change no file through a symbolic link,
// and a file never in place: the new one is written beside it and takes its name, so
// that no hard link or reader sees it half written.
//
// Results are JSON objects. One with "success": false has an "error" that tells the
// cure.
package workspace
