"""What lies inside a source: entries of archives, attachments of mails, pieces of texts too large for one document."""

from florilege.ingest.containers.kinds import Inside, inside, may_hold

__all__ = ["Inside", "inside", "may_hold"]
