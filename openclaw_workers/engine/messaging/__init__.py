"""Messages that agents write to chats by themselves."""
