"""What `ocw up` runs on one machine: a private Redis, a worker per lane, Flower."""
