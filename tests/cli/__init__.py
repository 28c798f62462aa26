"""The command line. In this process where it can be, in a process of its own for signals and exit codes."""
