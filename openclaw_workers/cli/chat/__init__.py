"""`ocw chat`: attached to a session in a terminal, or line by line from a pipe."""
