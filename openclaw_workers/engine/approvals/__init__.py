"""Questions to people that runs wait for: whether a command may run, and what an agent asks."""
