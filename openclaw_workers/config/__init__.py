"""Settings: what may be configured, how it is read, and what applies to which agent."""
