// Package wheel runs the configs with custom tools that MassGen's wheel on PyPI has, against servers of models. The
// tests need the wheel, which scripts/wheel.sh installs, so they are behind the build tag "wheel"; the script runs
// them.
package wheel
