"""Agents that really start in the middle: built with the frameworks' own libraries, over a running service."""
