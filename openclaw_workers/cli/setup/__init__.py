"""`ocw init`: the questions, the files that follow from the answers, and the first steps."""
