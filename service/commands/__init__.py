"""What the commands of `borrower-memory` do. `service.__main__` says how they are called, and imports what is asked for."""
