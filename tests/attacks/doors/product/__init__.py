"""Every kind of column, in every container, with every hostile cell, under every change of the records.

Four registries make the product: `kinds` (what a column is declared as), `stores` (the type it is kept in,
with the hostile cells of that type), `containers` (what the table comes in, and the door that reads it) and
`changes` (a record replaced, removed, added or moved; a person with more and fewer rows). Whatever joins one
of them is tried with all of the others."""
