"""What users import: `Plait`, jobs, handles, and what a handler may say."""
