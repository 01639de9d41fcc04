"""Decisions that change their mind, as processes on both backends: the matrix of a stale one, and long random histories."""
