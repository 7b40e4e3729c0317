"""Where state is kept: tables, the database they are in, and what erases them."""
