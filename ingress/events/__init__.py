"""Events for viewers: one reader per process follows every watched session and passes its events on."""
