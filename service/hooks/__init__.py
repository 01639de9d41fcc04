"""What vendors post, from the address they post to until it is entries of the log and lines of chats (API 11).

registry    the addresses: made, listed, revoked, looked up for every request
refused     how often a signature was refused, by hook
bodies      what was posted, sealed; the keys of what it told; what our own messages were
starting    the answer to "how shall this call begin?"
taking      the items of one body become entries, lines, or are set aside
worker      reads the stored bodies, also those that a crash left unread
"""
