"""The joint kinds, each with its map H*, its transform and its way to integrate."""
