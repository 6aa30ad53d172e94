"""Models that speak OpenAI's Chat Completions or Responses API, at OpenAI or anywhere else."""
