// Package cross has a test that the project also builds for systems other than the one it
// runs on. The test has a build tag, since it loads dependencies that only those need.
package cross
