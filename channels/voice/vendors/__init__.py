"""One module for each vendor whose voice agents report to us: raw bodies in, summaries and hard events out."""
