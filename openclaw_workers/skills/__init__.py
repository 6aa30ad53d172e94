"""Skills: folders with a SKILL.md that tells an agent how to do one kind of task."""
