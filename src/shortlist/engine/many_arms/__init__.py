"""The same round with many arms, most of which are passed over."""
