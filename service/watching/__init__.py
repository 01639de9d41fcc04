"""What a team watches: counts across a tenant's borrowers and of the parts that work by themselves, and the cases behind each
number (DESIGN 16).

Functions of a connection, to be given to `database.read` or `read_slow`; each takes the tenant and filters by it first, but for
`standing`, which tells of the service as a whole. Nothing is written here, and no number is kept. Lists are paged by key, and a
count agrees with its list.

    board          what a team lead asks at nine in the morning
    arrivals       deliveries, by what became of them
    machinery      partitions, what waits for Kafka, hooks, a model
    vendor_bodies  the bodies of one hook, without a word of them
    waiting        accepted entries that are not merged yet
    standing       how things stand at this moment, across all tenants
    rollout        the measures of a roll-out, and in `rollout_cases` the conversations behind them
"""
