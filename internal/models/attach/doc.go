// Package attach reads the pictures, PDFs and texts that a question is asked with, and those
// that tools return: it tells what a file is by its content, bounds it before anything is
// decoded, and makes a picture smaller for a service that wants that.
package attach
