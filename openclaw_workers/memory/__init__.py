"""Long-term memory: Markdown files and transcripts, cut into chunks, indexed in Qdrant and searched."""
