"""Where an agent's commands run apart from the host: one interface, and the programs that implement it."""
