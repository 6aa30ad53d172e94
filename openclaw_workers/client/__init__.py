"""Following a conversation. The logic does no I/O; a blocking and an asyncio reader carry out what it asks for."""
