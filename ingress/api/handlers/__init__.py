"""The handlers of the route table. Each is a few lines: it asks the engine or the queries, and names the answer."""
