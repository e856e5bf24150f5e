"""References: how a session is named from outside, and a bounded copy of it carried elsewhere."""
