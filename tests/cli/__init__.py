"""The command line: in this process where possible, in a separate process for signals and exit codes."""
