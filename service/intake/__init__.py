"""What comes in: stamped once, appended to a log in one form, merged from there by the writer alone."""
