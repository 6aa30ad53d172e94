"""What people ask about an installation, answered from the stores; shared by CLI and HTTP."""
