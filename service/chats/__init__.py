"""Chats that go on: built from messages, summarised when they fall quiet, end, or are asked for (DESIGN 10, 11).

rows         what is stored of a chat and its lines; who may summarise it (functions of a connection)
chats        taking messages in, naming what is open, asking for a summary
sweeper      claims what is due, has it summarised, posts it as a revision
"""
