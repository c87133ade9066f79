"""One query of a session: planned, kept among known plans, admitted in its turn, run, written."""
