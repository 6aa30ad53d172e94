"""What commands ask and order, of the installation itself or through its HTTP API. Answers are the JSON they print."""
