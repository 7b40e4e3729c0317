"""The linter: each check is a function, a limit stands in `config/`, a finding names file and line."""
