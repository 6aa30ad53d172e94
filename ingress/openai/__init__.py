"""The API of OpenAI's chat completions, so that its clients talk to agents."""
