"""What can be known of a loop before it runs."""
