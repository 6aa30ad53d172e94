"""Sends what the outbox holds to chats, through the channels' adapters."""
