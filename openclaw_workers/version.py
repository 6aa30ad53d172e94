"""The version of the program. A module of its own, because the package itself offers the Python clients."""

VERSION = "0.1.0"
