# Leaves in golangci-lint's list of linters (builder_linter.go) those that the variable used
# names, by the names of their packages.
BEGIN { split(used, names, " "); for (i in names) keep[names[i]] }
/placeholderReplacer :=/ { next } # only a linter that is left out has a use for it
/"github.com\/golangci\/golangci-lint\/v2\/pkg\/golinters\/[a-z0-9]+"$/ {
  name = $0; gsub(/.*\/|"/, "", name)
  if (name in keep) print
  next
}
/^\t\tlinter\.NewConfig\(/ { # an entry, up to the next blank line or the end of the list
  name = $0; gsub(/^.*NewConfig\(|\..*/, "", name)
  leave_out = !(name in keep)
}
/^$|^\t}/ { leave_out = 0 }
!leave_out
