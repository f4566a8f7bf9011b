"""The command line: a table of commands, each imported only when it is called."""
