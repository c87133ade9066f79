"""The shell: command line, interactive session, output formats, doctor."""
