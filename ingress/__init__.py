"""The ingress: accepts messages over HTTP and from channels, and streams or delivers the replies. It runs no agent."""
