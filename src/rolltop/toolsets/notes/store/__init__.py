"""All of the SQL of notes. Every statement names the owner and the account."""
