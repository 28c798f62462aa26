"""How a database comes to this version's schema, from nothing or from an older one, and on which servers."""
